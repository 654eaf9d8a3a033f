// SPDX-License-Identifier: Apache-2.0
// The root, what is mounted below it, and the kernel's files in it.
#include "tests/shim/inspect/seen.hpp"
#include "tests/shim/scratch.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <optional>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace anchorhold::root_path_test {

using namespace inspect;

TEST_CASE("root.path is looked at like a mount, and is no writable channel")
{
    const Scratch scratch;
    scratch.folder("bundle/rootfs", 0755);
    InspectionContext context = context_of(scratch);
    context.own_paths = {scratch / "bundle"};
    const auto of_root = [&](const std::string& path) {
        return seen_in(R"({"root": {"path": )" + json::quote(path) + "}}", context);
    };
    CHECK(of_root("rootfs").voids == Texts());
    CHECK(of_root("rootfs").channels == Texts());
    CHECK(of_root("/").voids == Texts{"root.path: is the host's /" + only});
    CHECK(of_root(".").voids ==
          Texts{"root.path: is " + (scratch / "bundle") + ", which this run depends on" + only});
}

TEST_CASE("kernel files that the host's root could write are voids, unless read-only")
{
    const Scratch scratch;
    const InspectionContext context = context_of(scratch);
    const std::string said =
        "mounts[0]: root inside can have the host run programs (kernel.core_pattern); put "
        "/proc/sys into linux.readonlyPaths";
    const auto proc = [&](const std::string& section, const std::string& process = "{}") {
        return seen_in(R"({"mounts": [{"destination": "/proc/", "type": "proc"}], "linux": )" +
                           section + R"(, "process": )" + process + "}",
                       context);
    };
    CHECK(proc("{}").voids == Texts{said});
    CHECK(proc(R"({"readonlyPaths": []})").voids == Texts{said});
    CHECK(proc(R"({"readonlyPaths": ["/proc/bus"]})").voids == Texts{said});
    CHECK(proc(R"({"readonlyPaths": ["/proc/bus", "/proc/sys"]})").voids == Texts());

    const std::string plain = R"({"user": {"uid": 1000}, "noNewPrivileges": true})";
    CHECK(proc("{}", R"({"user": {"uid": 1000}})").voids == Texts{said});
    CHECK(proc("{}", plain).voids == Texts());
    CHECK(proc("{}", plain).advice == Texts{said});

    const auto mapped = [](const std::string& host) {
        return R"({"namespaces": [{"type": "user"}, {"type": "pid"}, {"type": "ipc"}],
                   "uidMappings": [{"containerID": 0, "hostID": )" +
               host + R"(, "size": 9}]})";
    };
    CHECK(proc(mapped("100000")).voids == Texts());
    CHECK(proc(mapped("100000")).advice == Texts());
    CHECK(proc(mapped("0")).voids == Texts{said});
    CHECK(proc(mapped("0"), R"({"user": {"uid": 5}, "noNewPrivileges": true})").voids ==
          Texts{said});

    const auto sys = [&](const std::string& rest) {
        return seen_in(R"({"mounts": [{"destination": "/sys", "type": "sysfs")" + rest + "}",
                       context)
            .voids;
    };
    CHECK(sys("}]") == Texts{"mounts[0]: root inside can write the host's sysfs; mount it \"ro\""});
    CHECK(sys(R"(, "options": ["ro"]}])") == Texts());
    CHECK(sys(R"(}], "linux": {"readonlyPaths": ["/sys"]})") == Texts());
}

namespace {

// Returns what a child sees in a mount namespace of its own; nothing where none can be made.
template <typename Look> std::optional<std::string> seen_among_mounts(const Look& look)
{
    int ends[2] = {};
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const UniqueFd reads(ends[0]);
    UniqueFd writes(ends[1]);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
            ::_exit(77);
        const std::string text = look();
        ::_exit(::write(writes.get(), text.data(), text.size()) < 0 ? 1 : 0);
    }
    writes = UniqueFd();
    std::string text;
    char part[1024];
    for (ssize_t got = 0; (got = ::read(reads.get(), part, sizeof part)) > 0;)
        text.append(part, static_cast<std::size_t>(got));
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        return std::nullopt;
    REQUIRE(status == 0);
    return text;
}

} // namespace

TEST_CASE("what is mounted below the root comes along, so it is looked at")
{
    const Scratch scratch;
    const std::string root = scratch.folder("bundle/rootfs", 0755);
    for (const std::string name : {"proc", "engine", "served", "silent", "plain"})
        scratch.folder("bundle/rootfs/" + name, 0755);
    scratch.folder("engine/x", 0755);
    scratch.folder("silent", 0755);
    const UniqueFd engine = unix_socket(scratch / "engine/x/docker.sock");
    const UniqueFd silent = unix_socket(scratch / "silent/podman.sock", Serves::no);
    const UniqueFd images_own = unix_socket(root + "/containerd.sock", Serves::no);
    const auto over = [&](const std::string& source, const std::string& name) {
        return ::mount(source.c_str(), (root + "/" + name).c_str(), nullptr, MS_BIND | MS_REC,
                       nullptr) == 0;
    };
    const auto seen = seen_among_mounts([&] {
        if (!over("/proc", "proc") || !over(scratch / "engine", "engine") ||
            !over(scratch / "silent", "silent") || !over(scratch / "engine/x", "served") ||
            ::mount("tmpfs", (root + "/plain").c_str(), "tmpfs", 0, nullptr) != 0)
            return std::string("not mounted");
        const Seen all = seen_in(R"({"root": {"path": "rootfs"}})", context_of(scratch));
        std::string text;
        for (const std::string& line : all.voids)
            text += line + "\n";
        for (const std::string& line : all.channels)
            text += line + "\n";
        return text;
    });
    if (!seen) {
        MESSAGE("skipped: no user namespace can be made here");
        return;
    }
    const auto brings = [&](const std::string& name) {
        return "root.path: brings " + root + "/" + name +
               " along, which is mounted below it; unmount it\n";
    };
    CHECK(seen->find(brings("proc")) == 0); // followed by what the host has mounted below /proc
    CHECK(seen->find(brings("engine")) != seen->npos);
    CHECK(seen->find(brings("served")) != seen->npos);
    CHECK(seen->find("root.path: holds the engine's socket " + root + "/silent/podman.sock\n") !=
          seen->npos);
    CHECK(seen->find("/plain") == seen->npos);
    CHECK(seen->find("containerd.sock") == seen->npos);
    CHECK(seen->find("writable") == seen->npos);
}

TEST_CASE("a socket of the root's own tree is a channel when somebody serves it")
{
    const Scratch scratch;
    const std::string root = scratch.folder("bundle/rootfs/run", 0755);
    const UniqueFd served = unix_socket(root + "/db.sock");
    const UniqueFd left_over = unix_socket(scratch / "bundle/rootfs/old.sock", Serves::no);
    const Seen seen = seen_in(R"({"root": {"path": "rootfs"}})", context_of(scratch));
    CHECK(seen.voids == Texts());
    CHECK(seen.channels == Texts{"root.path: " + root + "/db.sock can be connected to"});
}

} // namespace anchorhold::root_path_test
