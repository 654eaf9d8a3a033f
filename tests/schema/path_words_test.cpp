// SPDX-License-Identifier: Apache-2.0
#include "schema/path_words.hpp"

#include <doctest/doctest.h>

namespace anchorhold::path_words_test {
namespace {

const ContainerId id = *ContainerId::parse("4f2a");

// Returns the filled path, or the refusal's code and sentence.
std::string filled(std::string_view path, const std::string& config)
{
    const auto document = json::Document::parse(config);
    REQUIRE(document.has_value());
    const auto got = fill_path_words(path, id, document->root());
    return got ? *got : std::string(name_of(got.error().code)) + ": " + got.error().what;
}

std::string refused(std::string_view path, Pods pods = Pods::no)
{
    const auto got = check_path_words(path, pods);
    if (got)
        return "";
    CHECK(got.error().code == Code::invalid_policy);
    return got.error().what;
}

const std::string named =
    R"({"hostname": "job-42", "annotations": {"a.b/c": "x", "pod": "web.0"}})";
const std::string missing = ", which its broker's socket is found by; start it with one";

} // namespace

TEST_CASE("words in braces are filled in, each once")
{
    CHECK(filled("/run/b/{id}/s", named) == "/run/b/4f2a/s");
    CHECK(filled("/run/b/{hostname}/{id}-{id}", named) == "/run/b/job-42/4f2a-4f2a");
    CHECK(filled("/run/b/x{annotation:pod}y/s", named) == "/run/b/xweb.0y/s");
    CHECK(filled("/run/b/all/s", named) == "/run/b/all/s");
    CHECK(filled("{hostname}", R"({"hostname": "{id}"})") == "{id}");
    CHECK(*fill_path_words("/b/{id}-{hostname}/{annotation:k}", id, {}) ==
          "/b/4f2a-{hostname}/{annotation:k}");
}

TEST_CASE("what the container does not have is an endpoint that is not there")
{
    for (const std::string config : {R"({})", R"({"hostname": null, "annotations": null})",
                                     R"({"annotations": {"k": null}})"}) {
        CAPTURE(config);
        CHECK(filled("/b/{hostname}/s", config) ==
              "endpoint_unavailable: the container has no hostname" + missing);
        CHECK(filled("/b/{annotation:k}/s", config) ==
              "endpoint_unavailable: the container has no annotation \"k\"" + missing);
    }
    CHECK(filled("/b/{hostname}/s", R"({"hostname": 1})") ==
          "config_ambiguous: hostname: expected a string");
}

TEST_CASE("a value is one component of a path, or refused")
{
    const std::string end = " is not one component of a path";
    for (const std::string value : {"", ".", "..", "a/b", "/", "../x"}) {
        CAPTURE(value);
        const std::string text = "\"" + value + "\"";
        const auto hostname = filled("/b/{hostname}/s", R"({"hostname": )" + text + "}");
        CHECK(hostname.starts_with("invalid_request: the container's hostname \""));
        CHECK(hostname.ends_with(end));
        const auto key = filled("/b/{annotation:k}/s", R"({"annotations": {"k": )" + text + "}}");
        CHECK(key.starts_with("invalid_request: the container's annotation \"k\" \""));
        CHECK(key.ends_with(end));
    }
    CHECK(filled("/b/{hostname}/s", R"({"hostname": ")" + std::string(256, 'a') + "\"}")
              .ends_with(end));
}

TEST_CASE("a policy has words that are known, and no hostname for pods")
{
    for (const std::string_view path :
         {"/b/s", "/b/{id}/s", "/b/{hostname}/s", "/b/{annotation:k}/s", "/b/a}/s", "/b/{a/s"})
        CHECK(refused(path) == "");
    const std::string end = " is none of {id}, {hostname} and {annotation:KEY}";
    for (const std::string word : {"{}", "{ID}", "{name}", "{annotation}", "{annotation:}",
                                   "{annotation:a/b}", "{annotation:{id}"})
        CHECK(refused("/b/{id}/" + word + "/s") == word + end);
    CHECK(refused("/b/{id}.{annotation:k}/s", Pods::yes) == "");
    CHECK(refused("/b/{hostname}/s", Pods::yes) ==
          "containers of pods have no {hostname}; name an annotation that the engine writes");
}

TEST_CASE("a path with words is each container's own")
{
    CHECK(has_path_words("unix:/b/{id}/s"));
    CHECK(has_path_words("unix:/b/{hostname}/s"));
    CHECK_FALSE(has_path_words("unix:/b/all/s"));
    CHECK_FALSE(has_path_words("tcp:host:80"));
}

} // namespace anchorhold::path_words_test
