// SPDX-License-Identifier: Apache-2.0
#include "shim/words/command_line.hpp"

#include <doctest/doctest.h>

#include <sstream>

namespace anchorhold::command_line_test {

using namespace words;
namespace {

std::vector<std::string> words(const std::string& line)
{
    std::istringstream in(line);
    std::vector<std::string> out;
    for (std::string word; in >> word;)
        out.push_back(word == "''" ? "" : word);
    return out;
}

// Returns the whole reading as one line: "create bundle=/b@1+2 pid-file=p@3 : id", and "?word" for
// what the table does not know.
std::string reading(const std::string& line, Flavour flavour)
{
    const Invocation call = read_invocation(words(line), flavour);
    constexpr const char* verbs[] = {"create", "run",    "restore", "start",
                                     "exec",   "update", "remove",  "other"};
    std::string out = verbs[static_cast<std::size_t>(call.verb)];
    for (const OptionAt& option : call.options) {
        out += " " + option.name;
        if (!option.value.empty())
            out += "=" + option.value;
        out += "@" + std::to_string(option.first);
        if (option.words != 1)
            out += "+" + std::to_string(option.words);
        if (option.letter != 0)
            out += "." + std::to_string(option.letter);
    }
    out += " :";
    for (const std::string& operand : call.operands)
        out += " " + operand;
    if (call.unknown)
        out += " ?" + *call.unknown;
    return out;
}

std::string runc(const std::string& line)
{
    return reading(line, Flavour::runc);
}

std::string crun(const std::string& line)
{
    return reading(line, Flavour::crun);
}

Split split(std::vector<const char*> line)
{
    return split_own_options(line);
}

std::string wrong(std::vector<const char*> line)
{
    const Split split = split_own_options(line);
    return split.wrong ? split.wrong->what : "nothing";
}

using Words = std::vector<std::string>;

} // namespace

TEST_CASE("the runtime's name says whose table is used")
{
    CHECK(flavour_of("/usr/bin/crun") == Flavour::crun);
    CHECK(flavour_of("/usr/bin/crun-wasm") == Flavour::crun);
    CHECK(flavour_of("/usr/bin/krun") == Flavour::crun);
    CHECK(flavour_of("/opt/crun/runc") == Flavour::runc);
    CHECK(flavour_of("/usr/sbin/runc") == Flavour::runc);
    CHECK(flavour_of("runc") == Flavour::runc);
}

TEST_CASE("R1 runc's spellings of the bundle are all one bundle (C-12)")
{
    CHECK(runc("create --bundle B id") == "create bundle=B@1+2 : id");
    CHECK(runc("create -bundle B id") == "create bundle=B@1+2 : id");
    CHECK(runc("create -b B id") == "create bundle=B@1+2 : id");
    CHECK(runc("create --b B id") == "create bundle=B@1+2 : id");
    CHECK(runc("create -b=B id") == "create bundle=B@1 : id");
    CHECK(runc("create --bundle=B id") == "create bundle=B@1 : id");
    CHECK(runc("create --bundle= id") == "create bundle@1 : id");
    CHECK(runc("run id --bundle B") == "run bundle=B@2+2 : id");
    CHECK(runc("create -bB id") == "create : ?-bB");
    CHECK(runc("create --bund B id") == "create : ?--bund");
    CHECK(runc("create ---bundle B id") == "create : ?---bundle");
}

TEST_CASE("the last bundle wins, under every spelling")
{
    const auto call = read_invocation(words("run -b X id --bundle=Y"), Flavour::runc);
    REQUIRE(call.last("bundle") != nullptr);
    CHECK(call.last("bundle")->value == "Y");
    CHECK(call.last("pid-file") == nullptr);
    CHECK(crun("run -bX --bund Y id") == "run bundle=X@1.1 bundle=Y@2+2 : id");
}

TEST_CASE("R1 a value that is called like a subcommand is a value (C-12)")
{
    CHECK(runc("--root create run --bundle B id") == "run root=create@0+2 bundle=B@3+2 : id");
    CHECK(runc("--log create --log-format json create id") ==
          "create log=create@0+2 log-format=json@2+2 : id");
    CHECK(runc("run --bundle create create") == "run bundle=create@1+2 : create");
    CHECK(runc("create create") == "create : create");
    CHECK(runc("state create") == "other :");
    CHECK(crun("--root create run -b create create") ==
          "run root=create@0+2 bundle=create@3+2.1 : create");
}

TEST_CASE("two dashes end the options")
{
    CHECK(runc("run -- id") == "run : id");
    CHECK(runc("-- run id") == "run : id");
    CHECK(runc("create id --") == "create : id");
    CHECK(runc("create -- --bundle") == "create : --bundle");
    CHECK(runc("delete --force -- id") == "remove force@1 : id");
    CHECK(crun("-- run -b B -- id") == "run bundle=B@2+2.1 : id");
    CHECK(crun("create -- --bundle") == "create : --bundle");
}

TEST_CASE("runc's flags take a value after = alone")
{
    CHECK(runc("-debug=false create id") == "create : id");
    CHECK(runc("--debug create --no-pivot=T id") == "create debug@0 no-pivot@2 : id");
    CHECK(runc("create --no-pivot --no-pivot=0 id") == "create : id");
    CHECK(runc("create --no-pivot=maybe id") == "create : ?--no-pivot=maybe");
    CHECK(runc("create --no-pivot false") == "create no-pivot@1 : false");
}

TEST_CASE("urfave/cli moves one word along with each option, flag or not")
{
    CHECK(runc("create A B --bundle") == "create : ?--bundle"); // runc takes A
    CHECK(runc("run -d id --bundle B") == "run detach@1 : id --bundle B ?--bundle");
    CHECK(runc("run id -d --bundle B") == "run detach@2 bundle=B@3+2 : id");
}

TEST_CASE("a value that begins with a dash is nothing to be sure of")
{
    CHECK(runc("create --bundle -x id") == "create : ?--bundle");
    CHECK(runc("create --bundle - id") == "create : ?--bundle");
    CHECK(runc("create --bundle -- id") == "create : ?--bundle");
    CHECK(runc("create --bundle=-x id") == "create bundle=-x@1 : id");
    CHECK(crun("create --bundle -- id") == "create bundle=--@1+2 : id");
}

TEST_CASE("runc's exec ends its options at the id")
{
    CHECK(runc("exec --env A=1 -e=B=2 -t -p F id cmd --env C=3 -- x") ==
          "exec env=A=1@1+2 env=B=2@3 tty@4 process=F@5+2 : id cmd --env C=3 -- x");
    CHECK(crun("exec -tde A=1 --tty=no -tno id cmd -e C=3") ==
          "exec tty=de@1.1 : A=1 --tty=no -tno id cmd -e C=3");
    CHECK(crun("exec -dte -d id cmd") == "exec detach@1.1 tty=e@1.2 detach@2.1 : id cmd");
}

TEST_CASE("R1 crun's letters share words and its names are shortened")
{
    CHECK(crun("create -bB id") == "create bundle=B@1.1 : id");
    CHECK(crun("create -b=B id") == "create bundle==B@1.1 : id");
    CHECK(crun("create -bundle B id") == "create bundle=undle@1.1 : B id");
    CHECK(crun("run -db B id") == "run detach@1.1 bundle=B@1+2.2 : id");
    CHECK(crun("create --b=B id") == "create bundle=B@1 : id");
    CHECK(crun("create --no-p id") == "create no-pivot@1 : id");
    CHECK(crun("create --no id") == "create : ?--no");
    CHECK(crun("create --pr 1 id") == "create : ?--pr"); // program-name is argp's own
    CHECK(crun("create --pre 1 id") == "create preserve-fds=1@1+2 : id");
    CHECK(crun("create --no-pivot=x id") == "create : ?--no-pivot=x");
    CHECK(crun("create --pid-file") == "create : ?--pid-file");
    CHECK(crun("create id --bundle B") == "create : id --bundle B"); // crun itself refuses this
    CHECK(crun("create - id") == "create : - id");
}

TEST_CASE("what only prints does not create")
{
    CHECK(runc("create --help --bundle B id") == "other help@1 bundle=B@2+2 : id");
    CHECK(runc("--version create id") == "other version@0 : id");
    CHECK(runc("--version=false create id") == "create : id");
    CHECK(runc("create --help --help=false id") == "create : id");
    CHECK(crun("-v create id") == "other version@0.1 :");
    CHECK(crun("create -b B -? id") == "other bundle=B@1+2.1 help@3.1 :");
    CHECK(crun("create -v id") == "create : ?-v");
}

TEST_CASE("an option that is not known never hides its neighbours from refusal")
{
    CHECK(runc("create --frob id") == "create : ?--frob");
    CHECK(runc("create id --frob") == "create : id --frob ?--frob");
    CHECK(runc("create --frob --help id") == "create help@2 : id --frob ?--frob");
    CHECK(crun("run --frob --help id") == "run : ?--frob");
    CHECK(runc("--frob x create --bundle B id") == "create : ?--frob");
    CHECK(runc("--frob start create id") == "create : ?--frob");
    CHECK(runc("--frob delete id") == "remove : ?--frob");
    CHECK(runc("--frob exec start id") == "exec : ?--frob");
    CHECK(runc("--frob state id") == "other : ?--frob");
    CHECK(runc("--log") == "other : ?--log");
    CHECK(runc("") == "other :");
}

TEST_CASE("R3 R4 creation with an unknown word or another config file is refused (C-12, C-33)")
{
    const auto refusal = [](const std::string& line, Flavour flavour) {
        const Status status = check_words(read_invocation(words(line), flavour));
        return status ? std::string() : status.error().what;
    };
    CHECK(refusal("create --bundle B id", Flavour::runc).empty());
    CHECK(refusal("create --frob id", Flavour::runc) ==
          "option \"--frob\" is not one that this version knows or can be sure of, so it is not "
          "passed on; leave it out");
    const std::string config =
        "--config \"o.json\" would have the runtime read another file than the one that is "
        "checked; name it config.json in the bundle";
    for (const char* line : {"run -f o.json -b B id", "run -fo.json id", "create --conf=o.json id",
                             "run -dfo.json id", "create --config o.json id"})
        CHECK(refusal(line, Flavour::crun) == config);
    CHECK(refusal("create --config o.json id", Flavour::runc) == config);
    CHECK(refusal("create id -config=o.json", Flavour::runc) == config);
}

TEST_CASE("every option of both tables gets a verdict by what it does to the promise")
{
    const auto verdicts = [](const std::string& line, Flavour flavour) {
        std::string said;
        const Invocation call = read_invocation(words(line), flavour);
        for (const OptionAt& option : call.options) {
            constexpr std::string_view names[] = {"passes", "channel", "opens", "below", "refused"};
            said += option.name + ":" +
                    std::string(names[static_cast<std::size_t>(verdict_on(call, option))]) + " ";
        }
        return said;
    };
    CHECK(verdicts("--rootless true --root /r --systemd-cgroup create --no-new-keyring --no-pivot "
                   "--config c.json x",
                   Flavour::runc) == "rootless:opens root:passes systemd-cgroup:passes "
                                     "no-new-keyring:channel no-pivot:passes config:refused ");
    CHECK(verdicts("--rootless=false create x", Flavour::runc) == "rootless:passes ");
    CHECK(verdicts("--rootless auto create x", Flavour::runc) == "rootless:passes ");
    for (const std::string manager : {"disabled", "Disabled", "", "none", "systemd "})
        CHECK(verdicts("--cgroup-manager=" + manager + " create x", Flavour::crun) ==
              (manager == "systemd " ? "cgroup-manager:passes " : "cgroup-manager:opens "));
    CHECK(verdicts("--cgroup-m disabled run x", Flavour::crun) == "cgroup-manager:opens ");
    CHECK(verdicts("--cgroup-manager=cgroupfs run -b /b x", Flavour::crun) ==
          "cgroup-manager:passes bundle:passes ");
    for (const Flavour flavour : {Flavour::runc, Flavour::crun}) {
        CHECK(verdicts("exec --cgroup a/b x true", flavour) == "cgroup:passes ");
        for (const std::string above : {"..", "a/../..", "devices:../x"})
            CHECK(verdicts("exec --cgroup " + above + " x true", flavour) == "cgroup:below ");
    }
    const Status refused =
        check_words(read_invocation(words("exec --cgroup ../.. x true"), Flavour::crun));
    REQUIRE(!refused);
    CHECK(refused.error().what ==
          "--cgroup \"../..\" leads out of the container's cgroup; leave \"..\" out");
}

TEST_CASE("what is asked to be printed takes no value")
{
    CHECK(split({"--ah-help"}).prints == "help");
    CHECK(split({"--debug", "--ah-version", "create"}).prints == "version");
    CHECK(split({"--ah-version"}).rest == Words{});
    CHECK(split({"create", "--ah-help"}).prints == "");
    const Split valued = split({"--ah-help=x", "create", "id"});
    CHECK(valued.prints == "");
    REQUIRE(valued.wrong);
    CHECK(valued.wrong->what == "no option \"--ah-help=x\"");
}

TEST_CASE("our own options are taken out wherever they stand before the subcommand")
{
    const Split got =
        split({"--debug", "--ah-profile", "ci", "--log", "--ah-log", "--log-format=json",
               "--ah-state=/run/x", "create", "--ah-policy", "/p", "id"});
    CHECK(got.own == OwnOptions{{}, "/run/x", "ci", {}});
    CHECK(got.rest == Words{"--debug", "--log", "--ah-log", "--log-format=json", "create",
                            "--ah-policy", "/p", "id"});
    CHECK_FALSE(got.wrong);
    CHECK(split({"--root", "create", "--ah-runtime=/r", "run"}).own.runtime == "/r");
    // crun's short form.
    CHECK(split({"--roo", "create", "--ah-runtime=/r", "run"}).own.runtime == "/r");
    CHECK(split({"exec", "id", "sh", "--ah-profile=x"}).own == OwnOptions{});
    CHECK(split({"--", "--ah-profile=x"}).rest == Words{"--", "--ah-profile=x"});
}

TEST_CASE("a wrong option of ours is said, and the rest still reaches the runtime")
{
    const Split got = split({"--ah-frob", "--ah-profile=a", "state", "id"});
    CHECK(got.rest == Words{"state", "id"});
    CHECK(wrong({"--ah-frob", "x", "state"}) == "no option \"--ah-frob\"");
    CHECK(wrong({"--ah-profile"}) == "--ah-profile needs a value");
    CHECK(wrong({"--ah-profile=", "create"}) == "--ah-profile needs a value");
    CHECK(wrong({"--ah-profile", "--debug", "create"}) == "--ah-profile needs a value");
    CHECK(wrong({"--ah-policy=p.json", "create"}) == "--ah-policy: \"p.json\" is not absolute");
    CHECK(wrong({"--ah-profile", "off", "create"}) == "nothing");
}

TEST_CASE("a value that a shell would change is refused with a hint (C-51)")
{
    for (const char* value :
         {"/etc/anchor hold/p.json", "/etc/$HOME/p", "/etc/'p'", "/etc/\"p\""}) {
        const std::string said = wrong({"--ah-policy", value, "create"});
        CHECK(said.contains("holds a blank, a quote or \"$\", which an engine that goes through a "
                            "shell would change; name something without"));
    }
}

TEST_CASE("an option is replaced and dropped as it was spelled")
{
    const auto replaced = [](const std::string& line, Flavour flavour) {
        const auto rest = words(line);
        return with_value(rest, *read_invocation(rest, flavour).last("log"), "/L");
    };
    CHECK(replaced("--log a create x", Flavour::runc) == Words{"--log", "/L", "create", "x"});
    CHECK(replaced("-log=a --log= create", Flavour::runc) == Words{"-log=a", "--log=/L", "create"});
    CHECK(replaced("--log=a create", Flavour::crun) == Words{"--log=/L", "create"});

    const auto preserving = [](const std::string& line, Flavour flavour) {
        const auto rest = words(line);
        return with_option(rest, read_invocation(rest, flavour), "preserve-fds", "3");
    };
    CHECK(preserving("--log a create x", Flavour::runc) ==
          Words{"--log", "a", "create", "--preserve-fds=3", "x"});
    CHECK(preserving("run x --preserve-fds 2", Flavour::runc) ==
          Words{"run", "x", "--preserve-fds", "3"});
    CHECK(preserving("create --pre=2 x", Flavour::crun) == Words{"create", "--pre=3", "x"});

    const auto dropped = [](const std::string& line, Flavour flavour) {
        const auto rest = words(line);
        std::vector<OptionAt> env;
        for (const OptionAt& option : read_invocation(rest, flavour).options)
            if (option.name == "env")
                env.push_back(option);
        return without(rest, env);
    };
    CHECK(dropped("exec -e A=1 -d --env=B=1 id x", Flavour::runc) ==
          Words{"exec", "-d", "id", "x"});
    CHECK(dropped("exec -deA=1 --env B=1 -e C=1 id x", Flavour::crun) ==
          Words{"exec", "-d", "id", "x"});
    CHECK(dropped("exec -de A=1 -eB=1 id x", Flavour::crun) == Words{"exec", "-d", "id", "x"});
}

} // namespace anchorhold::command_line_test
