// SPDX-License-Identifier: Apache-2.0
// A test of every keyword of our schemas. RapidJSON 1.1 ignores keywords that it does not know, so
// a schema may promise what nothing checks. For each keyword there is a document here that only
// this keyword refuses.
#include "schema/policy.hpp"
#include "tests/files.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

namespace anchorhold::schemas_test {
namespace {

struct Refused {
    std::string document;
    std::string error;
};

const std::string policy_path = "schema/policy.schema.json";
const std::string record_path = "schema/record.schema.json";

// Returns the documents for the policy's schema. The record's schema uses no other keyword.
const std::map<std::string, Refused>& refused_by()
{
    static const std::map<std::string, Refused> table{
        {"type", {R"({"annotations":"yes"})", "/annotations: refused by \"type\" of the schema"}},
        {"enum", {R"({"ceiling":"all"})", "/ceiling: refused by \"enum\" of the schema"}},
        {"pattern", {R"({"runtime":"runc"})", "/runtime: refused by \"pattern\" of the schema"}},
        {"properties", {R"({"vsock":1})", "/vsock: refused by \"enum\" of the schema"}},
        {"additionalProperties",
         {R"({"cieling":"off"})", "/cieling: refused by \"additionalProperties\" of the schema"}},
        {"required",
         {R"({"profiles":{"p":{"endpoints":[{"name":"m","listen":1}]}}})",
          "/profiles/p/endpoints/0: refused by \"required\" of the schema"}},
        {"items", {R"({"sockets":[1]})", "/sockets/0: refused by \"type\" of the schema"}},
        {"uniqueItems",
         {R"({"sockets":["/a","/a"]})", "/sockets/1: refused by \"uniqueItems\" of the schema"}},
        {"minItems",
         {R"({"deny":[{"to":"x","ports":[]}]})", "/deny/0: refused by \"anyOf\" of the schema"}},
        {"maxItems", {"", "/deny: refused by \"maxItems\" of the schema"}},
        {"minLength", {R"({"deny":[""]})", "/deny/0: refused by \"anyOf\" of the schema"}},
        {"maxLength", {"", "/deny/0: refused by \"anyOf\" of the schema"}},
        {"minimum",
         {R"({"profiles":{"p":{"endpoints":[{"name":"m","listen":0,"to":"unix:/a/b"}]}}})",
          "/profiles/p/endpoints/0/listen: refused by \"minimum\" of the schema"}},
        {"maximum",
         {R"({"profiles":{"p":{"endpoints":[{"name":"m","listen":65536,"to":"unix:/a/b"}]}}})",
          "/profiles/p/endpoints/0/listen: refused by \"maximum\" of the schema"}},
        {"anyOf", {R"({"allow":true})", "/allow: refused by \"anyOf\" of the schema"}},
        {"$ref",
         {R"({"profiles":{"p":{"egress":"all"}}})",
          "/profiles/p/egress: refused by \"enum\" of the schema"}},
    };
    return table;
}

std::string long_document(const std::string& keyword)
{
    if (keyword == "maxLength")
        return R"({"deny":[")" + std::string(321, 'x') + R"("]})";
    std::string list = R"({"deny":["x")";
    for (int i = 0; i < 5000; ++i)
        list += R"(,"x")";
    return list + "]}";
}

void collect(json::View schema, std::set<std::string>& keywords);

void collect_each(json::View schemas, std::set<std::string>& keywords)
{
    for (const json::View schema : schemas.items())
        collect(schema, keywords);
}

// Collects every keyword that asserts something, and leaves out those that only describe.
void collect(json::View schema, std::set<std::string>& keywords)
{
    if (schema.kind() != json::Kind::object)
        return; // it is additionalProperties: false
    for (const json::View member : schema.items()) {
        const std::string keyword = member.key();
        if (keyword == "definitions") {
            collect_each(member, keywords);
            continue;
        }
        if (keyword == "$schema" || keyword == "title" || keyword == "description")
            continue;
        keywords.insert(keyword);
        if (keyword == "properties" || keyword == "anyOf")
            collect_each(member, keywords);
        else if (keyword == "items" || keyword == "additionalProperties")
            collect(member, keywords);
    }
}

std::set<std::string> keywords_of(const std::string& path)
{
    const auto document = json::Document::parse(source_file(path));
    REQUIRE(document);
    std::set<std::string> keywords;
    collect(document->root(), keywords);
    return keywords;
}

} // namespace

TEST_CASE("each keyword of the policy's schema refuses something")
{
    const std::string schema = source_file(policy_path);
    for (const auto& [keyword, refused] : refused_by()) {
        CAPTURE(keyword);
        const std::string document =
            refused.document.empty() ? long_document(keyword) : refused.document;
        const auto valid = json::validate(document, schema, Code::invalid_policy);
        REQUIRE(!valid);
        CHECK(valid.error().code == Code::invalid_policy);
        CHECK(valid.error().what == refused.error);
        CHECK(!parse_policy(document));
    }
    CHECK(json::validate("{}", schema, Code::invalid_policy));
}

TEST_CASE("the schemas use no keyword but those that were seen to refuse something")
{
    std::set<std::string> tested;
    for (const auto& [keyword, refused] : refused_by())
        tested.insert(keyword);
    CHECK(keywords_of(policy_path) == tested);
    for (const std::string& keyword : keywords_of(record_path))
        CHECK_MESSAGE(tested.contains(keyword), keyword);
}

} // namespace anchorhold::schemas_test
