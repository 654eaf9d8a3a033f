// SPDX-License-Identifier: Apache-2.0
#include "schema/file_identity.hpp"
#include "shim/inspect/host_files.hpp"
#include "tests/shim/inspect/seen.hpp"
#include "tests/shim/scratch.hpp"

#include <algorithm>
#include <doctest/doctest.h>

namespace anchorhold::mounts_test {

using namespace inspect;
namespace {

std::string mounts(const std::string& entries)
{
    return R"({"mounts": [)" + entries + "]}";
}

std::string bind_of(const std::string& source, const std::string& options = R"("rbind", "ro")")
{
    return mounts(R"({"destination": "/data", "type": "bind", "source": )" + json::quote(source) +
                  R"(, "options": [)" + options + "]}");
}

Texts voids_of_bind(const std::string& source)
{
    const Scratch scratch;
    return seen_in(bind_of(source), context_of(scratch)).voids;
}

} // namespace

TEST_CASE("an ordinary directory or file may be bound; a writable one is named")
{
    const Scratch scratch;
    const std::string project = scratch.folder("project", 0755);
    scratch.file("project/file");
    const InspectionContext context = context_of(scratch);
    for (const std::string& source : {project, project + "/file"}) {
        const Seen read_only = seen_in(bind_of(source), context);
        CHECK(read_only.voids == Texts());
        CHECK(read_only.channels == Texts());
        for (const std::string options :
             {R"("bind", "rw")", R"("rbind", "ro", "rw")", R"("bind")"}) {
            const Seen writable = seen_in(bind_of(source, options), context);
            CHECK(writable.voids == Texts());
            CHECK(writable.channels ==
                  Texts{"mounts[0].source: " + source + " is writable at /data"});
        }
    }
}

TEST_CASE("a relative source is found from the bundle, wherever we are")
{
    const Scratch scratch;
    scratch.folder("bundle/data", 0755);
    CHECK(seen_in(bind_of("data", R"("bind")"), context_of(scratch)).channels ==
          Texts{"mounts[0].source: " + (scratch / "bundle/data") + " is writable at /data"});
}

TEST_CASE("what was seen at each source is kept for the hook, the root first")
{
    const Scratch scratch;
    const auto identity = [](const std::string& path) {
        struct stat file = {};
        REQUIRE(::stat(path.c_str(), &file) == 0);
        return FileIdentity{file.st_dev, file.st_ino};
    };
    const std::string root = scratch.folder("bundle/rootfs");
    const std::string data = scratch.folder("data");
    std::filesystem::create_symlink("data", scratch / "link");
    const auto at = [](const std::string& destination, const std::string& source) {
        return R"({"destination": ")" + destination + R"(", "source": )" + json::quote(source) +
               R"(, "options": ["bind"]})";
    };
    const std::string tmpfs = R"({"destination": "/t//", "type": "tmpfs", "source": "t"})";
    const auto kept = [&](const std::string& entries) {
        return seen_in(R"({"root": {"path": "rootfs"}, "mounts": [)" + entries + "]}",
                       context_of(scratch))
            .sources;
    };
    using Sources = std::vector<BindSource>;
    const BindSource whole{"root.path", "/", identity(root)};
    CHECK(kept(at("a/../data", scratch / "link") + "," + tmpfs + "," + at("/x", "/nowhere")) ==
          Sources{whole,
                  {"mounts[0].source", "/data", identity(data)},
                  {"mounts[2].source", "/x", FileIdentity{}}});
    // A mount that a later one covers is not looked at: the hook would see the later one.
    CHECK(kept(at("/t", data) + "," + at("/t/below", data) + "," + at("/t2", data) + "," +
               at("/x", data) + "," + tmpfs + "," + at("/x/", root)) ==
          Sources{whole,
                  {"mounts[2].source", "/t2", identity(data)},
                  {"mounts[5].source", "/x", identity(root)}});
    CHECK(kept(at("/y", data) + "," + at("/", data)) ==
          Sources{{"mounts[1].source", "/", identity(data)}});
}

TEST_CASE("a layer is not compared once it is mounted, so who could replace it is said")
{
    const Scratch scratch;
    const std::string open = scratch.folder("open", 0777);
    scratch.folder("open/lower", 0755);
    const Seen seen = seen_in(mounts(R"({"destination": "/data", "type": "overlay",
        "source": "overlay", "options": [)" +
                                     json::quote("lowerdir=" + open + "/lower") + "]}"),
                              context_of(scratch));
    CHECK(seen.voids == Texts());
    CHECK(seen.advice == Texts{"mounts[0].options[0]: can be replaced before it is mounted: " +
                               open + " can be written by others than root; chmod go-w it"});
    CHECK(seen.sources.empty());
}

TEST_CASE("the host's own directories are voids, read-only or not, under any name")
{
    for (const std::string place :
         {"/", "/run", "/tmp", "/dev", "/proc", "/sys", "/etc", "/usr", "/var/lib", "/var"})
        for (const std::string& spelled : {place, place + "/.", "/usr/.." + place})
            CHECK(voids_of_bind(spelled) ==
                  Texts{"mounts[0].source: is the host's " + place + only});
    CHECK(voids_of_bind("/var/run") == Texts{"mounts[0].source: is the host's /run" + only});

    const Scratch scratch;
    std::filesystem::create_symlink("/etc", scratch / "innocent");
    CHECK(seen_in(bind_of(scratch / "innocent"), context_of(scratch)).voids ==
          Texts{"mounts[0].source: is the host's /etc" + only});
}

TEST_CASE("it is the option that makes a bind, whatever the type says")
{
    const Scratch scratch;
    for (const std::string entry :
         {R"({"destination": "/a", "source": "/etc", "options": ["bind"]})",
          R"({"destination": "/a", "type": "tmpfs", "source": "/etc", "options": ["rbind"]})",
          R"({"destination": "/a", "type": "none", "source": "/etc", "options": ["ro", "bind"]})",
          R"({"destination": "/a", "type": "bind", "source": "/etc"})"})
        CHECK(seen_in(mounts(entry), context_of(scratch)).voids ==
              Texts{"mounts[0].source: is the host's /etc" + only});
}

TEST_CASE("what this run depends on, and all above it, is a void; what lies beside it is not")
{
    const Scratch scratch;
    scratch.folder("lib/anchorhold", 0755);
    const std::string hook = scratch.file("lib/anchorhold/anchorhold-hook", 0755);
    scratch.folder("lib/other", 0755);
    InspectionContext context = context_of(scratch);
    context.own_paths = {hook, scratch / "etc/not/there/policy.json"};
    CHECK(seen_in(bind_of(hook), context).voids ==
          Texts{"mounts[0].source: is " + hook + ", which this run depends on" + only});
    for (const std::string& above : {scratch / "lib/anchorhold", scratch / "lib", scratch.path()})
        CHECK(seen_in(bind_of(above), context).voids ==
              Texts{"mounts[0].source: is a directory above " + hook + only});
    CHECK(seen_in(bind_of(scratch / "lib/other"), context).voids == Texts());
}

TEST_CASE("anything of the host's /proc is a void, also where only the runtime would see it")
{
    const std::string link = "mounts[0].source: goes through a magic link of /proc; name the real "
                             "place";
    CHECK(voids_of_bind("/proc/sys/kernel") ==
          Texts{"mounts[0].source: is the host's /proc" + only});
    CHECK(voids_of_bind("/proc/self/root/opt") == Texts{link});
    CHECK(voids_of_bind("/proc/self/fd/99") ==
          Texts{"mounts[0].source: is a symlink that leads nowhere; name the real place"});
    CHECK(voids_of_bind("/proc/self/fd/0") == Texts{link});
    CHECK(voids_of_bind("/opt/../proc/4194303/root") == Texts{link});

    const Scratch scratch;
    std::filesystem::create_symlink("/proc/self/fd/99", scratch / "later");
    CHECK(seen_in(bind_of(scratch / "later"), context_of(scratch)).voids ==
          Texts{"mounts[0].source: is a symlink that leads nowhere; name the real place"});
}

TEST_CASE("a source that is not there is left to the runtime, which refuses it")
{
    CHECK(voids_of_bind("/nowhere/at/all") == Texts());
}

TEST_CASE("dots behind a symlink are read in two ways, so they are a void")
{
    const Scratch scratch;
    scratch.folder("a/b", 0755);
    scratch.folder("c", 0755);
    scratch.folder("a/c", 0755);
    std::filesystem::create_symlink("a/b", scratch / "link");
    const InspectionContext context = context_of(scratch);
    CHECK(seen_in(bind_of(scratch / "link/../c"), context).voids ==
          Texts{"mounts[0].source: has \"..\" behind a symlink, which runtimes read in two ways; "
                "name the real place"});
    CHECK(seen_in(bind_of(scratch / "a/b/../c"), context).voids == Texts());
}

TEST_CASE("B-30: an engine's socket is a void, by its name or inside a mounted directory")
{
    const Scratch scratch;
    const InspectionContext context = context_of(scratch);
    scratch.folder("x/deeper", 0755);
    const std::string socket = scratch / "x/deeper/podman.sock";
    const UniqueFd engine = unix_socket(socket);
    REQUIRE(engine);
    CHECK(seen_in(bind_of(socket), context).voids ==
          Texts{"mounts[0].source: is the engine's socket " + socket + only});
    for (const std::string& above : {scratch / "x/deeper", scratch / "x"})
        CHECK(seen_in(bind_of(above), context).voids ==
              Texts{"mounts[0].source: is a directory above " + socket + only});
    std::filesystem::create_hard_link(socket, scratch / "innocent");
    CHECK(seen_in(bind_of(scratch / "innocent"), context).voids ==
          Texts{"mounts[0].source: is the engine's socket " + socket + only});
}

TEST_CASE("an engine's socket that no table lists is found right in the directory")
{
    const Scratch scratch;
    scratch.folder("x", 0755);
    const std::string socket = scratch / "x/docker.sock";
    const UniqueFd silent = unix_socket(socket, Serves::no);
    CHECK(seen_in(bind_of(scratch / "x"), context_of(scratch)).voids ==
          Texts{"mounts[0].source: holds the engine's socket " + socket});
}

TEST_CASE("B-31: other sockets and pipes are reported, at any depth when they are served")
{
    const Scratch scratch;
    const InspectionContext context = context_of(scratch);
    scratch.folder("x/deeper/still", 0755);
    const std::string deep = scratch / "x/deeper/still/db.sock";
    const UniqueFd database = unix_socket(deep);
    CHECK(seen_in(bind_of(deep), context).channels ==
          Texts{"mounts[0].source: " + deep + " can be connected to"});
    CHECK(seen_in(bind_of(scratch / "x"), context).channels ==
          Texts{"mounts[0].source: " + deep + " can be connected to"});
    CHECK(seen_in(bind_of(scratch / "x/deeper/stil"), context).channels == Texts());

    const std::string near = scratch / "x/silent.sock";
    const UniqueFd silent = unix_socket(near, Serves::no);
    REQUIRE(::mkfifo((scratch / "x/pipe").c_str(), 0600) == 0);
    Texts found = seen_in(bind_of(scratch / "x"), context).channels;
    std::ranges::sort(found);
    CHECK(found == Texts{"mounts[0].source: " + deep + " can be connected to",
                         "mounts[0].source: " + (scratch / "x/pipe") + " can be connected to",
                         "mounts[0].source: " + near + " can be connected to"});
}

TEST_CASE("engines' sockets are known by name")
{
    for (const std::string path :
         {"/run/docker.sock", "/x/docker.sock", "/run/user/1000/podman/podman.sock",
          "/run/systemd/private", "/run/user/1000/bus", "/var/lib/incus/unix.socket"})
        CHECK(is_engine_socket(path));
    for (const std::string path : {"/x/private", "/x/unix.socket", "/x/notdocker.sock",
                                   "/run/brokers/42/broker.sock", "docker.sock", "/x/bus"})
        CHECK(!is_engine_socket(path));
}

TEST_CASE("B-36: a broker's directory is not handed over a second time to be written")
{
    const Scratch scratch;
    const std::string directory = scratch.folder("brokers/42");
    struct stat file = {};
    REQUIRE(::stat(directory.c_str(), &file) == 0);
    InspectionContext context = context_of(scratch);
    context.places = {{.endpoint = {.name = "model",
                                    .listen = *Port::from(8080, Code::invalid_request),
                                    .to = UnixTarget{directory + "/broker.sock"}},
                       .directory = directory,
                       .socket = "broker.sock",
                       .identity = {.device = file.st_dev, .inode = file.st_ino}}};
    for (const std::string& source : {directory, scratch / "brokers"}) {
        CHECK(seen_in(bind_of(source), context).voids == Texts());
        CHECK(seen_in(bind_of(source, R"("bind", "rw")"), context).voids ==
              Texts{"mounts[0].source: hands a broker's directory over to be written; mount it "
                    "\"ro\" or not at all"});
    }
    scratch.folder("brokers/43");
    CHECK(seen_in(bind_of(scratch / "brokers/43", R"("bind")"), context).voids == Texts());
}

TEST_CASE("a device is bound only when every container has it")
{
    CHECK(voids_of_bind("/dev/null") == Texts());
    CHECK(voids_of_bind("/dev/urandom") == Texts());
    if (std::filesystem::exists("/dev/kmsg"))
        CHECK(voids_of_bind("/dev/kmsg") ==
              Texts{"mounts[0].source: is the host's device /dev/kmsg" + only});
}

TEST_CASE("an overlay's layers are sources too, each where it stands")
{
    const Scratch scratch;
    scratch.folder("upper", 0755);
    const std::string entry =
        R"({"destination": "/data", "type": "overlay", "source": "overlay", "options": [
            "lowerdir=)" +
        (scratch / "upper") + R"(:/etc", "lowerdir+=/run", "upperdir=)" + (scratch / "upper") +
        R"(", "workdir=/usr", "index=off"]})";
    const Seen seen = seen_in(mounts(entry), context_of(scratch));
    CHECK(seen.voids == Texts{"mounts[0].options[0]: is the host's /etc" + only,
                              "mounts[0].options[1]: is the host's /run" + only,
                              "mounts[0].options[3]: is the host's /usr" + only});
    CHECK(seen.channels ==
          Texts{"mounts[0].options[2]: " + (scratch / "upper") + " is writable at /data"});
}

TEST_CASE("options of an overlay come one by one, as a comma hides the next")
{
    const Scratch scratch;
    const auto voids_of = [&](const std::string& option) {
        return seen_in(mounts(R"({"destination": "/data", "type": "overlay", "source": "overlay",
                                  "options": ["ro", ")" +
                              option + R"("]})"),
                       context_of(scratch))
            .voids;
    };
    const Texts more{"mounts[0].options[1]: holds more than one option; write each by itself"};
    CHECK(voids_of("index=off,lowerdir=/etc") == more);
    CHECK(voids_of("rw,lowerdir=/etc") == more);
    CHECK(voids_of("index=off") == Texts());
}

TEST_CASE("a type outside the usual ones is a void, a network's is a channel")
{
    const Scratch scratch;
    const auto of_type = [&](const std::string& type) {
        return seen_in(mounts(R"({"destination": "/m", "type": ")" + type +
                              R"(", "source": "x", "options": ["ro"]})"),
                       context_of(scratch));
    };
    for (const std::string type :
         {"proc", "sysfs", "tmpfs", "devpts", "mqueue", "cgroup", "cgroup2", "overlay"}) {
        CHECK(of_type(type).voids == Texts());
        CHECK(of_type(type).channels == Texts());
    }
    for (const std::string type :
         {"devtmpfs", "bpf", "debugfs", "tracefs", "ext4", "nsfs", "none", "", "TMPFS"})
        CHECK(of_type(type).voids == Texts{"mounts[0].type: \"" + type +
                                           "\" is not a filesystem of the container's own; leave "
                                           "it out"});
    for (const std::string type :
         {"nfs", "nfs4", "cifs", "9p", "ceph", "fuse", "fuse.sshfs", "autofs", "virtiofs"}) {
        CHECK(of_type(type).voids == Texts());
        CHECK(of_type(type).channels == Texts{"mounts[0]: " + type + " at /m"});
    }
}

TEST_CASE("shared propagation is a void, a slave's is a channel, a private one is nothing")
{
    const Scratch scratch;
    scratch.folder("x", 0755);
    const InspectionContext context = context_of(scratch);
    const auto with = [&](const std::string& word) {
        return seen_in(bind_of(scratch / "x", R"("ro", "bind", ")" + word + "\""), context);
    };
    const auto root_with = [&](const std::string& word) {
        return seen_in(R"({"linux": {"rootfsPropagation": ")" + word + "\"}}", context);
    };
    const std::string shared = "shares mounts with the host; use \"rprivate\"";
    const std::string slave = "what the host mounts below it shows up inside";
    for (const std::string word : {"shared", "rshared"}) {
        CHECK(with(word).voids == Texts{"mounts[0].options[2]: " + shared});
        CHECK(root_with(word).voids == Texts{"linux.rootfsPropagation: " + shared});
    }
    for (const std::string word : {"slave", "rslave"}) {
        CHECK(with(word).voids == Texts());
        CHECK(with(word).channels == Texts{"mounts[0].options[2]: " + slave});
        CHECK(root_with(word).channels == Texts{"linux.rootfsPropagation: " + slave});
    }
    for (const std::string word : {"private", "rprivate", "unbindable"}) {
        CHECK(with(word).voids == Texts());
        CHECK(with(word).channels == Texts());
    }
}

TEST_CASE("control characters in a source are escaped in what is said")
{
    const Scratch scratch;
    const std::string odd = scratch.folder("a\x1b[31m", 0755);
    CHECK(seen_in(bind_of(odd, R"("bind")"), context_of(scratch)).channels ==
          Texts{"mounts[0].source: " + scratch.path() + "/a\\x1b[31m is writable at /data"});
}

} // namespace anchorhold::mounts_test
