// SPDX-License-Identifier: Apache-2.0
#include "shim/session.hpp"

#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>

namespace anchorhold::session_test {

using namespace words;
namespace {

Session session_of(std::vector<const char*> argv)
{
    return open_session(argv);
}

std::string put(const Scratch& scratch, const std::string& name, const std::string& text)
{
    std::ofstream(scratch / name) << text;
    ::chmod((scratch / name).c_str(), 0644);
    return scratch / name;
}

} // namespace

TEST_CASE("a link's name chooses a profile, but for the names of our own programs")
{
    CHECK(profile_in_name("/usr/bin/anchorhold-ci") == "ci");
    CHECK(profile_in_name("anchorhold-a-b") == "a-b");
    for (const char* plain : {"anchorhold", "/x/anchorhold-/runc", "anchorhold-", "runc", "",
                              "anchorhold-hook", "anchorhold-relay", "/a/anchorhold-gate"})
        CHECK(profile_in_name(plain) == std::nullopt);
}

TEST_CASE("R12 the default root is the one that the runtime takes")
{
    const std::string xdg = "/run/user/7";
    CHECK(default_root(Flavour::runc, {true, true, xdg, {}}) == "/run/runc");
    CHECK(default_root(Flavour::runc, {true, true, {}, {}}) == "/run/runc");
    CHECK(default_root(Flavour::runc, {false, true, xdg, "root"}) == "/run/user/7/runc");
    CHECK(default_root(Flavour::runc, {false, true, "", {}}) == "/run/runc");
    CHECK(default_root(Flavour::runc, {true, false, xdg, {}}) == "/run/user/7/runc");
    CHECK(default_root(Flavour::runc, {true, false, xdg, "joe"}) == "/run/user/7/runc");
    CHECK(default_root(Flavour::runc, {true, false, xdg, "root"}) == "/run/runc");
    CHECK(default_root(Flavour::crun, {true, true, xdg, {}}) == "/run/user/7/crun");
    CHECK(default_root(Flavour::crun, {true, true, "", {}}) == "/run/crun");
    CHECK(default_root(Flavour::crun, {false, true, {}, {}}) == "/run/crun");
}

TEST_CASE("a session knows the runtime, the words and the root")
{
    const Scratch scratch;
    const std::string policy = put(scratch, "p.json", R"({"version":1,"runtime":"/bin/sh"})");
    const Session session =
        session_of({"/x/anchorhold-ci", "--ah-policy", policy.c_str(), "--ah-state=/run/x",
                    "--root", "/run/../run/r/", "create", "-b=B", "id"});
    REQUIRE(session.policy);
    CHECK(session.runtime == "/bin/sh");
    CHECK(session.argv0_profile == "ci");
    CHECK(session.state_path == "/run/x");
    CHECK(session.root == "/run/r");
    CHECK(session.policy_path == policy);
    CHECK(session.invocation.verb == Verb::create);
    CHECK(session.rest ==
          std::vector<std::string>{"--root", "/run/../run/r/", "create", "-b=B", "id"});
}

TEST_CASE("a broken or missing policy refuses creation and nothing else (C-31)")
{
    const Scratch scratch;
    const std::string broken = put(scratch, "p.json", "{");
    const std::string open_to_all = put(scratch, "q.json", "{\"version\":1}");
    ::chmod(open_to_all.c_str(), 0666);
    for (const std::string& path : {broken, open_to_all, scratch / "nowhere"}) {
        const Session session =
            session_of({"anchorhold", "--ah-policy", path.c_str(), "--ah-state=/nowhere",
                        "--ah-runtime", "/bin/sh", "create", "id"});
        CHECK(session.runtime == "/bin/sh");
        CHECK_FALSE(session.obstacle);
        REQUIRE_FALSE(session.policy);
        CHECK(session.policy.error().code == Code::invalid_policy);
        const auto refused = carry_out(session);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().what == session.policy.error().what);
    }
}

TEST_CASE("a policy behind a link that nobody else could have laid is read")
{
    const Scratch scratch;
    const std::string policy = put(scratch, "p.json", R"({"version":1,"runtime":"/bin/sh"})");
    std::filesystem::create_symlink("p.json", scratch / "link.json");
    const std::string link = scratch / "link.json";
    CHECK(session_of({"anchorhold", "--ah-policy", link.c_str(), "state"}).runtime == "/bin/sh");
}

TEST_CASE("a relative policy or state is not looked for where the caller stands")
{
    const Scratch scratch;
    put(scratch, "p.json", R"({"version":1,"runtime":"/bin/sh"})");
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(scratch.path());
    const Session session =
        session_of({"anchorhold", "--ah-policy=p.json", "--ah-state=state", "check"});
    const std::string absolute = scratch / "p.json";
    const Session control =
        session_of({"anchorhold", "--ah-policy", absolute.c_str(), "--ah-state=/s", "check"});
    std::filesystem::current_path(before);
    REQUIRE_FALSE(session.policy);
    CHECK(session.policy.error().what == "policy: \"p.json\" is not absolute");
    CHECK(session.policy.error().code == Code::invalid_policy);
    CHECK(session.state_path != "state");
    CHECK(control.policy.has_value());
    CHECK(control.state_path == "/s");
}

TEST_CASE("a wrong option of ours refuses creation, the policy's runtime still runs the rest")
{
    const Scratch scratch;
    const std::string policy = put(scratch, "p.json", R"({"version":1,"runtime":"/bin/sh"})");
    const std::vector<const char*> front = {"anchorhold", "--ah-policy", policy.c_str(),
                                            "--ah-frob"};
    std::vector<const char*> create = front;
    create.insert(create.end(), {"create", "id"});
    const auto refused = carry_out(session_of(create));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what == "no option \"--ah-frob\"");
    std::vector<const char*> state = front;
    state.insert(state.end(), {"state", "id"});
    CHECK(session_of(state).runtime == "/bin/sh");
}

TEST_CASE("a runtime that is named and not fit stops everything, and says so")
{
    const Session session = session_of({"anchorhold", "--ah-runtime=/nowhere/runc", "state", "id"});
    const auto refused = carry_out(session);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().what ==
          "look at the runtime \"/nowhere/runc\": it is not there (ENOENT)");
}

TEST_CASE("a call without words does not look behind its end")
{
    CHECK(open_session({}).rest.empty());
}

TEST_CASE("the drop-ins beside the policy are read, in the order of their names")
{
    const Scratch scratch;
    const std::string policy = put(scratch, "policy.json", R"({"runtime":"/bin/sh"})");
    scratch.folder("policy.d", 0755);
    put(scratch, "policy.d/b.json", R"({"profiles":{"b":{}}})");
    put(scratch, "policy.d/a.json", R"({"profiles":{"a":{}}})");
    put(scratch, "policy.d/.hidden.json", "{");
    put(scratch, "policy.d/note.txt", "{");
    const Session session = session_of({"anchorhold", "--ah-policy", policy.c_str(), "state"});
    REQUIRE_MESSAGE(session.policy.has_value(), session.policy.error().what);
    CHECK(session.policy->known_profiles() == "a, b, off");
    CHECK(session.policy_files == std::vector<std::string>{policy, scratch / "policy.d/a.json",
                                                           scratch / "policy.d/b.json"});
}

TEST_CASE("a drop-in that another could have written refuses creation, as the policy does")
{
    const Scratch scratch;
    const std::string policy = put(scratch, "policy.json", R"({"runtime":"/bin/sh"})");
    const std::string folder = scratch.folder("policy.d", 0755);
    const std::string file = put(scratch, "policy.d/a.json", R"({"profiles":{"a":{}}})");
    const auto refusal = [&] {
        const Session session = session_of({"anchorhold", "--ah-policy", policy.c_str(), "state"});
        return session.policy ? "" : session.policy.error().what;
    };
    CHECK(refusal() == "");
    ::chmod(file.c_str(), 0666);
    CHECK(refusal() == "policy: " + file + " can be written by others than root; chmod go-w it");
    ::chmod(file.c_str(), 0644);
    ::chmod(folder.c_str(), 0777);
    CHECK(refusal() == "policy: " + folder + " can be written by others than root; chmod go-w it");
    ::chmod(folder.c_str(), 0755);
    put(scratch, "policy.d/b.json", "{");
    CHECK(refusal().starts_with("policy " + folder + "/b.json: "));
}

} // namespace anchorhold::session_test
