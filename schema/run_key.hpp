// SPDX-License-Identifier: Apache-2.0
// The name of a run. The id alone is not unique: two containerd namespaces may hold the same one at
// once. So no name and no path is made from the id; they are made from the key.
#pragma once

#include "schema/error.hpp"

#include <string>
#include <string_view>

namespace anchorhold {

// A container id as a runtime may accept it: 1 to 255 bytes, one path component, no NUL.
class ContainerId {
public:
    static Result<ContainerId> parse(std::string_view text);
    const std::string& text() const noexcept { return text_; }
    friend bool operator==(const ContainerId&, const ContainerId&) = default;

private:
    explicit ContainerId(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

// The first 12 hex digits of SHA-256(root NUL id). `root` is the state directory of the runtime,
// absolute and resolved by the caller (hooks/state/state_dir.hpp, resolve_root).
class RunKey {
public:
    static RunKey of(std::string_view root, const ContainerId& id);
    static Result<RunKey> parse(std::string_view text); // exactly 12 lower-case hex digits
    const std::string& text() const noexcept { return text_; }
    friend bool operator==(const RunKey&, const RunKey&) = default;
    friend auto operator<=>(const RunKey&, const RunKey&) = default;

private:
    explicit RunKey(std::string text) : text_(std::move(text)) {}
    std::string text_;
};

} // namespace anchorhold
