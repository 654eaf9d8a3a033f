// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/handles.hpp"

namespace anchorhold::gate {

Handles::Handles(const rules::Prefix& range, std::uint32_t epoch,
                 const std::vector<std::string>& names)
    : mask_(~((1U << (32 - range.length())) - 1))
{
    for (std::size_t i = 0; i < 4; ++i)
        base_ = base_ << 8 | range.bytes()[i];
    next_ = first_handle;
    for (const std::string& name : names)
        (void)take(name); // more than there are handles have none
    next_ += epoch * most_handles;
}

std::optional<std::uint32_t> Handles::take(std::string_view name)
{
    const std::string text(name);
    if (const auto known = numbers_.find(text); known != numbers_.end())
        return base_ + known->second;
    if (numbers_.size() >= most_handles)
        return std::nullopt;
    numbers_.emplace(text, next_);
    names_.emplace(next_, text);
    return base_ + next_++;
}

const std::string* Handles::name_of(std::uint32_t address) const
{
    const auto found = names_.find(address - base_);
    return found == names_.end() ? nullptr : &found->second;
}

} // namespace anchorhold::gate
