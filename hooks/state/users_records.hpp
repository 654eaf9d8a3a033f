// SPDX-License-Identifier: Apache-2.0
// Root's view of the runs of rootless engines: /run/user/UID/anchorhold. All that is read there was
// written by that user, who may have put anything in its place. So no link is followed, no other
// mount is entered, nothing is opened that is no regular file of the user's, and each user gets so
// much of our time and no more.
#pragma once

#include "schema/record.hpp"

#include <string>
#include <vector>

namespace anchorhold::state {

constexpr std::size_t most_users_runs = 256;                       // of one user
constexpr std::size_t most_users_record = std::size_t{256} * 1024; // bytes

enum class Which : std::uint8_t { live, ended };

struct UsersRecords {
    std::vector<Record> records;       // with `owner`; by user, then by key
    std::vector<std::string> left_out; // "uid UID: sentence"
};
// Reads the records of every user's runs. `place` is /run/user, except in tests.
UsersRecords read_users_records(const std::string& place, Which which);

} // namespace anchorhold::state
