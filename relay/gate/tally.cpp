// SPDX-License-Identifier: Apache-2.0
#include "relay/gate/tally.hpp"

#include "schema/json/json.hpp"

#include <algorithm>

namespace anchorhold::gate {
namespace {

constexpr std::size_t most_denied = 256;
constexpr std::array<const char*, static_cast<std::size_t>(Refusal::count)> refusal_words{
    "no_handle", "port", "address", "resolver", "destination", "unreachable", "tls", "full"};

} // namespace

void Tally::reset(Refusal why)
{
    ++resets_[static_cast<std::size_t>(why)];
    dirty_ = true;
}

void Tally::fail_lookup()
{
    ++failed_;
    dirty_ = true;
}

void Tally::deny(const std::string& name, std::int64_t now)
{
    if (denied_.size() >= most_denied && !denied_.contains(name))
        drop_oldest();
    Denied& denied = denied_[name];
    ++denied.count;
    denied.last = now;
    dirty_ = true;
}

void Tally::drop_oldest()
{
    const auto oldest =
        std::ranges::min_element(denied_, {}, [](const auto& entry) { return entry.second.last; });
    others_ += oldest->second.count;
    denied_.erase(oldest);
}

std::string Tally::text()
{
    dirty_ = false;
    json::Writer out;
    out.begin_object().key("denied").begin_array();
    for (const auto& [name, denied] : denied_) {
        out.begin_object().member("name", name);
        out.key("count").integer(static_cast<std::int64_t>(denied.count));
        out.key("last").integer(denied.last).end_object();
    }
    out.end_array().key("others").integer(static_cast<std::int64_t>(others_));
    out.key("resets").begin_object();
    for (std::size_t i = 0; i < resets_.size(); ++i)
        out.key(refusal_words[i]).integer(static_cast<std::int64_t>(resets_[i]));
    out.end_object().key("servfail").integer(static_cast<std::int64_t>(failed_)).end_object();
    return out.take();
}

} // namespace anchorhold::gate
