// SPDX-License-Identifier: Apache-2.0
#include "hooks/state/names_file.hpp"

#include "hooks/files/whole_file.hpp"
#include "schema/rules/names_table.hpp"

#include <cerrno>
#include <fcntl.h>

namespace anchorhold::state {
namespace {

std::string names_path(const StateDir& state, const std::string& key)
{
    return state.path() + "/runs/" + key + "/names";
}

} // namespace

Result<UniqueFd> make_names_file(const StateDir& state, const RunKey& key)
{
    const std::string path = names_path(state, key.text());
    UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file)
        return fail_errno("make " + path, errno);
    if (const int number = ::posix_fallocate(file.get(), 0, rules::names_table_size); number != 0)
        return fail_errno("reserve " + path, number);
    return file;
}

void note_refused_names(const StateDir& state, Record& record)
{
    const auto table = files::read_file(names_path(state, record.key), rules::names_table_size);
    if (table && *table)
        rules::note_refused(record, **table);
}

} // namespace anchorhold::state
