// SPDX-License-Identifier: Apache-2.0
#include "relay/command.hpp"

#include <errno.h>
#include <string.h>
#include <unistd.h>

namespace anchorhold::relay {
namespace {

constexpr int not_found = 127;
constexpr int not_executable = 126;

struct ExecWord {
    int number;
    const char* text;
};

constexpr ExecWord exec_words[] = {
    {E2BIG, "argument list too long"},
    {EACCES, "permission denied"},
    {EINVAL, "invalid argument"},
    {EISDIR, "is a directory"},
    {ELOOP, "too many levels of symbolic links"},
    {ENAMETOOLONG, "file name too long"},
    {ENOENT, "no such file or directory"},
    {ENOEXEC, "exec format error"},
    {ENOMEM, "cannot allocate memory"},
    {ENOTDIR, "not a directory"},
    {EPERM, "operation not permitted"},
    {ETXTBSY, "text file busy"},
};

void add_word(Line& line, int number)
{
    for (const ExecWord& word : exec_words) {
        if (word.number == number) {
            line.add(word.text);
            return;
        }
    }
    line.add("errno ").add_number(number);
}

// Explains an error of execve for a file that is there: exec /bin/x: exec format error
int explain_exec(const char* path, int number, Line& why)
{
    why.add("exec ").add_printable(path).add(": ");
    add_word(why, number);
    return number == ENOENT ? not_found : not_executable;
}

// Explains an error as Go's exec.LookPath does: exec: "/bin/x": stat /bin/x: no such file or
// directory
int explain_lookup(const char* name, int number, Line& why)
{
    why.add("exec: ").add_quoted(name).add(": ");
    if (number == ENOENT || number == ENOTDIR)
        why.add("stat ").add_printable(name).add(": ");
    add_word(why, number);
    return number == ENOENT ? not_found : not_executable;
}

// Returns whether the file is there. execve can answer ENOENT even then: the file's interpreter is
// missing.
bool exists(const char* path)
{
    return access(path, F_OK) == 0;
}

int execute_path(const char* path, char** command, char** environment, Line& why)
{
    execve(path, command, environment);
    const int number = errno;
    const bool about_path =
        number == EACCES || number == ENOTDIR || (number == ENOENT && !exists(path));
    return about_path ? explain_lookup(command[0], number, why) : explain_exec(path, number, why);
}

const char* find_variable(char** environment, const char* name)
{
    const size_t size = strlen(name);
    for (; *environment != nullptr; ++environment) {
        if (strncmp(*environment, name, size) == 0 && (*environment)[size] == '=')
            return *environment + size + 1;
    }
    return nullptr;
}

bool is_passed_over(int number)
{
    return number == EACCES || number == ENOENT || number == ENOTDIR || number == ENAMETOOLONG;
}

} // namespace

bool next_candidate(const char*& path, const char* name, char (&candidate)[PATH_MAX])
{
    const char* end = strchrnul(path, ':');
    const char* directory = path;
    auto size = static_cast<size_t>(end - path);
    path = *end == '\0' ? nullptr : end + 1;
    if (size == 0) {
        directory = ".";
        size = 1;
    }
    const size_t name_size = strlen(name);
    if (size + 1 + name_size >= sizeof candidate)
        return false;
    memcpy(candidate, directory, size);
    candidate[size] = '/';
    memcpy(candidate + size + 1, name, name_size + 1);
    return true;
}

void rename_listen_pid(char** environment, pid_t from, pid_t to, char (&replacement)[40])
{
    Line before;
    before.add("LISTEN_PID=").add_number(from);
    Line after;
    after.add("LISTEN_PID=").add_number(to);
    for (; *environment != nullptr; ++environment) {
        if (strcmp(*environment, before.text()) != 0)
            continue;
        memcpy(replacement, after.text(), sizeof replacement);
        *environment = replacement;
    }
}

int execute(char** command, char** environment, Line& why)
{
    const char* name = command[0];
    if (strchr(name, '/') != nullptr)
        return execute_path(name, command, environment, why);
    const char* path = find_variable(environment, "PATH");
    if (path != nullptr && (path[0] == '\0' || name[0] == '\0'))
        path = nullptr;
    int denied = 0;
    while (path != nullptr) {
        char candidate[PATH_MAX];
        if (!next_candidate(path, name, candidate))
            continue;
        execve(candidate, command, environment);
        const int number = errno;
        if (!is_passed_over(number) || (number == ENOENT && exists(candidate)))
            return explain_exec(candidate, number, why);
        if (number == EACCES)
            denied = number;
    }
    if (denied != 0)
        return explain_lookup(name, denied, why);
    why.add("exec: ").add_quoted(name).add(": executable file not found in $PATH");
    return not_found;
}

} // namespace anchorhold::relay
