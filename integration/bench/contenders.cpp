// SPDX-License-Identifier: Apache-2.0
#include "contenders.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <signal.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

void write_file(const std::string& path, const std::string& text)
{
    std::ofstream(path) << text;
}

std::string file_text(const std::string& path)
{
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::string haproxy_configuration(const std::string& port, const std::string& path,
                                  std::size_t most)
{
    return "global\n nbthread 1\n maxconn " + std::to_string(most) +
           "\ndefaults\n mode tcp\n timeout connect 60s\n timeout client 1h\n timeout server 1h\n"
           "listen relay\n bind 127.0.0.1:" +
           port + "\n server broker unix@" + path + "\n";
}

std::string nginx_configuration(const std::string& port, const std::string& path,
                                const std::string& directory)
{
    return "load_module /usr/lib/nginx/modules/ngx_stream_module.so;\ndaemon off;\n"
           "master_process off;\nerror_log /dev/null;\npid " +
           directory +
           "/nginx.pid;\nevents { worker_connections 19000; }\n"
           "stream { server { listen 127.0.0.1:" +
           port + " backlog=4096; proxy_pass unix:" + path + "; proxy_timeout 1h; } }\n";
}

int listening_socket(const Address& address)
{
    constexpr int on = 1;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
    if (bind(fd, name, address.size) != 0 || listen(fd, 4096) != 0)
        _exit(1);
    return fd;
}

[[noreturn]] void run(const Contender& contender)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (!contender.cgroup.empty())
        write_file(contender.cgroup + "/cgroup.procs", "0\n");
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int fd : {0, 1, 2})
        (void)dup2(null, fd);
    if (contender.takes_socket) {
        const int fd = listening_socket(contender.address);
        (void)dup2(fd, 3);
        (void)setenv("LISTEN_FDS", "1", 1);
        (void)setenv("LISTEN_PID", std::to_string(getpid()).c_str(), 1);
    }
    (void)close_range(contender.takes_socket ? 4 : 3, ~0U, 0);
    std::vector<char*> words;
    for (const std::string& word : contender.command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(words[0], words.data());
    _exit(127);
}

// Returns a process and, unless it alone counts, all that it has started.
std::vector<pid_t> tree(pid_t root, bool is_alone)
{
    std::vector<pid_t> found{root};
    for (std::size_t at = 0; at < found.size() && !is_alone; ++at) {
        const std::string pid = std::to_string(found[at]);
        std::istringstream children(file_text("/proc/" + pid + "/task/" + pid + "/children"));
        for (pid_t child = 0; children >> child;)
            found.push_back(child);
    }
    return found;
}

// Microseconds of the children that have ended: proc_pid_stat(5), cutime and cstime.
double time_of_ended(pid_t pid)
{
    const std::string text = file_text("/proc/" + std::to_string(pid) + "/stat");
    std::istringstream fields(text.substr(std::min(text.rfind(')') + 1, text.size())));
    std::string word;
    double ticks[2] = {};
    for (int at = 0; at < 13; ++at)
        fields >> word;
    fields >> ticks[0] >> ticks[1];
    return (ticks[0] + ticks[1]) / static_cast<double>(sysconf(_SC_CLK_TCK)) * 1e6;
}

double field(const std::string& text, const std::string& name)
{
    const std::size_t at = text.find("\n" + name);
    return at == std::string::npos ? 0 : std::atof(text.c_str() + at + 1 + name.size());
}

bool is_listening(const Address& address)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto* name = reinterpret_cast<const sockaddr*>(&address.storage);
    const bool is = connect(fd, name, address.size) == 0;
    close(fd);
    return is;
}

constexpr const char* cgroup_parents[] = {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"};

std::string cgroup_prefix; // of this run alone

// The memory cgroup's directory of either version, or nothing where there is none to be had.
std::string make_cgroup(const std::string& name)
{
    for (const char* parent : cgroup_parents) {
        const std::string path = std::string(parent) + "/" + cgroup_prefix + name;
        if (mkdir(path.c_str(), 0755) != 0)
            continue;
        for (const char* usage : {"/memory.usage_in_bytes", "/memory.current"}) {
            if (access((path + usage).c_str(), R_OK) == 0)
                return path;
        }
        (void)rmdir(path.c_str());
    }
    return {};
}

void remove_cgroup(const std::string& path)
{
    // Its processes have ended, and are still on their way out of it.
    for (int tries = 0; tries < 1000 && rmdir(path.c_str()) != 0 && errno == EBUSY; ++tries)
        (void)usleep(1000);
}

Contender relay_of(const std::string& name, const std::string& program, std::uint16_t port,
                   const std::string& path)
{
    Contender contender = {
        name,
        tcp_address(port),
        {program, "--endpoint", std::to_string(port) + "=" + path, "--", "/bin/sleep", "infinity"}};
    contender.is_alone = true;
    return contender;
}

void fork_off(Contender& contender)
{
    contender.cgroup = make_cgroup(contender.name);
    contender.pid = fork();
    if (contender.pid == 0)
        run(contender);
}

} // namespace

std::string broker_path(const std::string& directory)
{
    return directory + "/broker.sock";
}

std::vector<Contender> find_contenders(const std::string& directory, std::size_t most_connections,
                                       const std::vector<std::string>& older)
{
    const std::string path = broker_path(directory);
    write_file(directory + "/haproxy", haproxy_configuration("7002", path, most_connections + 200));
    write_file(directory + "/nginx", nginx_configuration("7004", path, directory));
    const char* relay = std::getenv("AH_RELAY");
    std::vector<Contender> relays = {
        relay_of("anchorhold", relay == nullptr ? "(AH_RELAY is not set)" : relay, 7001, path),
        {"haproxy", tcp_address(7002), {"/usr/sbin/haproxy", "-f", directory + "/haproxy"}},
        {"socket-proxyd",
         tcp_address(7003),
         {"/lib/systemd/systemd-socket-proxyd", "--connections-max=100000", path}},
        {"nginx stream",
         tcp_address(7004),
         {"/usr/sbin/nginx", "-e", "/dev/null", "-c", directory + "/nginx"}},
        {"socat",
         tcp_address(7005),
         {"/usr/bin/socat", "-b65536",
          "TCP-LISTEN:7005,bind=127.0.0.1,fork,reuseaddr,nodelay,backlog=4096",
          "UNIX-CONNECT:" + path}},
    };
    relays[2].takes_socket = true;
    if (!older.empty())
        relays.resize(1);
    for (const std::string& other : older) {
        const auto port = static_cast<std::uint16_t>(7001 + 10 * relays.size());
        relays.push_back(relay_of("older " + std::to_string(relays.size()), other, port, path));
    }
    std::vector<Contender> found = {{"direct TCP", tcp_address(broker_port), {}},
                                    {"direct Unix", unix_address(path), {}}};
    for (Contender& contender : relays) {
        // socat makes a process per connection.
        contender.most_connections = contender.name == "socat" ? 1000 : most_connections;
        if (access(contender.command[0].c_str(), X_OK) == 0)
            found.push_back(contender);
        else
            std::printf("%s: no %s, left out\n", contender.name.c_str(),
                        contender.command[0].c_str());
    }
    return found;
}

void start(Contender& contender)
{
    if (contender.command.empty())
        return;
    fork_off(contender);
    for (const double give_up = now() + 5e6; !answers(contender.address);) {
        if (now() > give_up) {
            std::printf("relay bench: %s does not answer\n", contender.name.c_str());
            std::exit(1);
        }
        (void)usleep(1000);
    }
}

void stop(Contender& contender)
{
    if (contender.pid == 0)
        return;
    (void)kill(contender.pid, SIGKILL); // its children follow it: they lose their connections
    (void)waitpid(contender.pid, nullptr, 0);
    contender.pid = 0;
    if (!contender.cgroup.empty())
        remove_cgroup(contender.cgroup);
}

void name_cgroups(pid_t run)
{
    cgroup_prefix = "ah-bench-" + std::to_string(run) + "-";
}

void remove_cgroups()
{
    for (const char* parent : cgroup_parents) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
            if (entry.path().filename().string().starts_with(cgroup_prefix))
                remove_cgroup(entry.path());
        }
    }
}

double cpu_of(pid_t root)
{
    if (root == 0)
        return 0;
    double total = 0;
    for (const pid_t pid : tree(root, false)) {
        clockid_t clock = 0;
        timespec used = {};
        if (clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
            total += static_cast<double>(used.tv_sec) * 1e6 +
                     static_cast<double>(used.tv_nsec) / 1e3 + time_of_ended(pid);
    }
    return total;
}

Memory memory_of(const Contender& contender)
{
    Memory memory;
    for (const pid_t pid : tree(contender.pid, contender.is_alone)) {
        const std::string text = file_text("/proc/" + std::to_string(pid) + "/smaps_rollup");
        memory.pss += field(text, "Pss:");
        memory.anonymous += field(text, "Anonymous:");
    }
    if (!contender.cgroup.empty()) {
        const std::string usage = file_text(contender.cgroup + "/memory.usage_in_bytes");
        memory.cgroup =
            std::atof(
                (usage.empty() ? file_text(contender.cgroup + "/memory.current") : usage).c_str()) /
            1024;
    }
    return memory;
}

double time_to_listen(Contender& contender)
{
    const double begin = now();
    fork_off(contender);
    while (!is_listening(contender.address)) {
        if (now() - begin > 5e6)
            std::exit(1);
    }
    const double took = now() - begin;
    stop(contender);
    return took / 1e3;
}

} // namespace bench
