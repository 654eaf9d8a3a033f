// SPDX-License-Identifier: Apache-2.0
// Splices that fill in, add to and remove from the containers of a document, commas included.
#pragma once

#include "schema/json/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::config {

// A member of that kind (array or object); nothing when it is absent or null.
Result<std::optional<json::View>> container(json::View object, std::string_view key,
                                            json::Kind kind);

std::string quoted_list(const std::vector<std::string>& texts); // ["a","b"]

enum class Side : std::uint8_t { front, back };

class Edits {
public:
    void replace(json::View value, std::string text);
    // Takes elements out of one array; called at most once for it, and before add().
    void remove(json::View array, const std::vector<json::View>& elements);
    // Elements, or members (at the back only), put into a container.
    void add(json::View into, Side side, const std::string& text);
    // The same for the container `key` of an object, which is made when it is absent or null; one
    // that is there is of that kind. Called at most once for one that has to be made.
    void add_to_member(json::View object, std::string_view key, json::Kind kind, Side side,
                       const std::string& text);
    void take(std::vector<json::Splice> splices);

    std::vector<json::Splice> splices() && { return std::move(splices_); }

private:
    struct Content {
        std::size_t begin = 0; // of the container
        bool any = false;      // whether it holds something after the edits so far
    };
    Content& content_of(json::View array_or_object);

    std::vector<json::Splice> splices_;
    std::vector<Content> contents_;
};

} // namespace anchorhold::config
