// SPDX-License-Identifier: Apache-2.0
#include "shim/tools/engine_files.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/engine/file.hpp"
#include "schema/engine/hook.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <unistd.h>

namespace anchorhold::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_engine_config = std::size_t{1024} * 1024;
constexpr std::size_t most_engine_files = 1000;
constexpr const char* crio_folder = "/etc/crio/crio.conf.d";

std::string variable(const char* name)
{
    const char* const value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): one thread
    return value != nullptr ? value : "";
}

class FileReader {
public:
    // Adds the file, through links as engines do. Returns false when it is not there, or cannot be
    // read.
    bool add(const std::string& path)
    {
        std::error_code error;
        const fs::path real = fs::canonical(path, error);
        if (error == std::errc::no_such_file_or_directory)
            return false;
        auto text = files::read_file(error ? path : real.string(), most_engine_config);
        if (!text) {
            read_.errors.push_back(std::move(text).error());
        } else if (*text) {
            read_.files.push_back({path, **std::move(text)});
            return true;
        }
        return false;
    }

    // Returns the names in a folder that fit `pattern`, in the order in which engines take them.
    std::vector<fs::path> matching(const fs::path& folder, const std::string& pattern)
    {
        std::vector<fs::path> found;
        std::error_code error;
        for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
             entry.increment(error)) {
            if (::fnmatch(pattern.c_str(), entry->path().filename().c_str(), 0) == 0)
                found.push_back(entry->path());
        }
        if (error && error != std::errc::no_such_file_or_directory &&
            error != std::errc::not_a_directory)
            fail("list " + folder.string(), error.value());
        std::ranges::sort(found);
        return found;
    }

    void add_all(const fs::path& folder, const std::string& pattern)
    {
        for (const fs::path& path : matching(folder, pattern)) {
            std::error_code error;
            if (!fs::is_directory(path, error))
                add(path);
        }
    }
    void add_with_drop_ins(const std::string& file)
    {
        add(file);
        add_all(file + ".d", "*.conf");
    }

    void fail(const std::string& doing, int number)
    {
        read_.errors.push_back(system_error(doing, number));
    }

    EngineFiles take() { return std::move(read_); }
    const engine::EngineFile& last() const { return read_.files.back(); }
    std::size_t count() const { return read_.files.size(); }

private:
    EngineFiles read_;
};

std::string users_podman_file()
{
    const std::string own = variable("XDG_CONFIG_HOME");
    return (own.empty() ? variable("HOME") + "/.config" : own) + "/containers/containers.conf";
}

// Reads podman's files: containers.conf(5). A variable's file stands for all others, an override
// comes behind them.
void read_podman_files(FileReader& reader)
{
    if (const std::string named = variable("CONTAINERS_CONF"); !named.empty()) {
        reader.add(named);
    } else {
        reader.add("/usr/share/containers/containers.conf");
        reader.add_with_drop_ins(usual_file(engine::Engine::podman));
        if (::geteuid() != 0)
            reader.add_with_drop_ins(users_podman_file());
    }
    if (const std::string last = variable("CONTAINERS_CONF_OVERRIDE"); !last.empty())
        reader.add(last);
}

// Returns the files that an import of containerd's means. It is a pattern only when it has a "*",
// and then in any of its parts.
std::vector<std::string> meant_by(const std::string& import, FileReader& reader)
{
    if (!import.contains('*'))
        return {fs::path(import).lexically_normal()};
    std::vector<fs::path> found{"/"};
    for (const fs::path& part : fs::path(import).lexically_normal().relative_path()) {
        std::vector<fs::path> below;
        for (const fs::path& folder : found) {
            if (part.string().find_first_of("*?[\\") == std::string::npos) {
                below.push_back(folder / part);
                continue;
            }
            for (fs::path& path : reader.matching(folder, part))
                below.push_back(std::move(path));
        }
        found = std::move(below);
    }
    std::erase_if(found, [](const fs::path& path) {
        std::error_code error;
        return !fs::exists(path, error) && !error;
    });
    return {found.begin(), found.end()};
}

// Reads containerd's files: containerd-config.toml(5). A file's imports are laid over all that is
// known before them; a file is read once. It does not start without a file that it imports by name.
void read_containerd_files(const std::string& main, engine::Layering layering, FileReader& reader)
{
    std::deque<std::string> pending{main};
    std::set<std::string> seen;
    while (!pending.empty() && reader.count() < most_engine_files) {
        const std::string path = std::move(pending.front());
        pending.pop_front();
        if (!seen.insert(path).second)
            continue;
        if (!reader.add(path)) {
            if (path != main && ::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
                reader.fail("import " + path, ENOENT);
            continue;
        }
        for (const std::string& import : engine::imports_of(reader.last(), layering)) {
            for (std::string& file : meant_by(import, reader))
                pending.push_back(std::move(file));
        }
    }
}

// Reads the files of crio.conf.d(5): every file below the folder, whatever it is called.
void read_crio_folder(const fs::path& folder, FileReader& reader, int depth)
{
    constexpr int deepest = 8;
    for (const fs::path& path : reader.matching(folder, "*")) {
        std::error_code error;
        if (!fs::is_directory(fs::symlink_status(path, error))) {
            reader.add(path);
        } else if (depth < deepest) {
            read_crio_folder(path, reader, depth + 1);
        }
    }
}

// Returns the file that a daemon was told to read; empty: its own default.
std::string file_in(std::string_view command_line)
{
    std::vector<std::string> words;
    for (std::size_t end = 0; (end = command_line.find('\0')) != std::string_view::npos;
         command_line.remove_prefix(end + 1))
        words.emplace_back(command_line.substr(0, end));
    for (std::size_t i = 0; i < words.size(); ++i) {
        for (const std::string_view option : {"-c", "--config", "--config-file"}) {
            if (words[i] == option && i + 1 < words.size())
                return words[i + 1];
            if (words[i].starts_with(std::string(option) + "=") && option != "-c")
                return words[i].substr(option.size() + 1);
        }
    }
    return "";
}

// Returns the file of each daemon of that name which sees our filesystems.
std::vector<std::string> files_of_running(const std::string& name, const std::string& otherwise)
{
    std::vector<std::string> found;
    std::error_code error;
    const fs::path ours = fs::read_symlink("/proc/self/ns/mnt", error);
    for (fs::directory_iterator entry("/proc", error), end; !error && entry != end;
         entry.increment(error)) {
        const std::string process = entry->path();
        const auto comm = files::read_file(process + "/comm", most_engine_config);
        std::error_code gone;
        if (!comm || !*comm || **comm != name + "\n" ||
            fs::read_symlink(process + "/ns/mnt", gone) != ours)
            continue;
        const auto words = files::read_file(process + "/cmdline", most_engine_config);
        const std::string file = words && *words ? file_in(**words) : std::string();
        found.push_back(file.empty() ? otherwise : file);
    }
    return found;
}

} // namespace

Status check_is_read(engine::Engine engine, const std::string& main)
{
    const bool docker = engine == engine::Engine::docker;
    const std::string word = docker ? "dockerd" : std::string(word_for(engine));
    const std::vector<std::string> read = files_of_running(word, usual_file(engine));
    for (const std::string& file : read) {
        std::error_code error;
        if (file == main || fs::equivalent(file, main, error))
            return {};
    }
    if (read.empty())
        return {};
    return fail(Code::invalid_request, word + " was started with " + printable(read.front()) +
                                           " and does not read " + printable(main) +
                                           "; name that file by --config");
}

std::string usual_file(engine::Engine engine)
{
    switch (engine) {
    case engine::Engine::podman: return "/etc/containers/containers.conf";
    case engine::Engine::docker: return "/etc/docker/daemon.json";
    case engine::Engine::containerd: return "/etc/containerd/config.toml";
    case engine::Engine::crio: return "/etc/crio/crio.conf";
    }
    std::abort(); // a byte that is no Engine
}

EngineFiles read_engine_files(engine::Engine engine, const std::string& main,
                              engine::Layering layering)
{
    FileReader reader;
    switch (engine) {
    case engine::Engine::podman: read_podman_files(reader); break;
    case engine::Engine::docker: reader.add(main); break;
    case engine::Engine::containerd: read_containerd_files(main, layering, reader); break;
    case engine::Engine::crio:
        reader.add(main);
        read_crio_folder(crio_folder, reader, 0);
        break;
    }
    return reader.take();
}

Result<std::string> drop_in_file(engine::Engine engine)
{
    constexpr const char* name = "/anchorhold.conf";
    if (engine != engine::Engine::podman)
        return std::string(crio_folder) + name;
    if (!variable("CONTAINERS_CONF").empty()) {
        return fail(Code::invalid_request,
                    "CONTAINERS_CONF names the one file that podman reads, so "
                    "a drop-in is none; unset it");
    }
    return (::geteuid() == 0 ? usual_file(engine) : users_podman_file()) + ".d" + name;
}

void add_hook_files(engine::EngineSetup& setup, std::vector<Error>& errors)
{
    if (setup.engine != engine::Engine::podman)
        return;
    const std::vector<std::string> folders = engine::hook_folders(setup);
    FileReader called;
    FileReader other;
    for (const std::string& folder : folders)
        called.add_all(folder, "*.json");
    for (const std::string_view folder : {engine::vendors_hooks, engine::sites_hooks}) {
        if (std::ranges::find(folders, folder) == folders.end())
            other.add_all(folder, "*.json");
    }
    EngineFiles read = called.take();
    std::ranges::move(read.errors, std::back_inserter(errors));
    engine::add_hooks(read.files, other.take().files, setup);
}

std::vector<engine::Fault> faults_of(const EngineFiles& read)
{
    std::vector<engine::Fault> faults;
    for (const Error& error : read.errors)
        faults.push_back(
            {engine::FaultKind::config_unreadable, {}, error.what, "look at that file"});
    return faults;
}

} // namespace anchorhold::tools
