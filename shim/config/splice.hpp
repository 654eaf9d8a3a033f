// SPDX-License-Identifier: Apache-2.0
// Splices of a JSON text: they add to its arrays and objects, take elements out, and keep the
// commas right.
#pragma once

#include "schema/json/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::config {

// Returns a member of that kind (array or object); nothing when it is absent or null; an error when
// it is of another kind.
Result<std::optional<json::View>> container(json::View object, std::string_view key,
                                            json::Kind kind);

// Returns the texts as a JSON array: ["a","b"].
std::string quoted_list(const std::vector<std::string>& texts);

// The end of a container where something is added.
enum class Side : std::uint8_t { front, back };

// Collects splices of one document. The views must be of that document.
class Edits {
public:
    void replace(json::View value, std::string text);
    // Takes elements out of an array. It is called at most once for an array, and before add().
    void remove(json::View array, const std::vector<json::View>& elements);
    // Puts elements into an array, or members into an object (at the back only).
    void add(json::View into, Side side, const std::string& text);
    // Adds to the container `key` of an object. A container that is absent or null is made, and
    // then this is called once for it. One that is there must be of that kind.
    void add_to_member(json::View object, std::string_view key, json::Kind kind, Side side,
                       const std::string& text);
    // Adds splices that were made elsewhere.
    void take(std::vector<json::Splice> splices);

    std::vector<json::Splice> splices() && { return std::move(splices_); }

private:
    // The state of one container.
    struct Content {
        std::size_t begin = 0; // offset of the container in the text
        bool any = false;      // it holds something after the edits so far
    };
    Content& content_of(json::View array_or_object);

    std::vector<json::Splice> splices_;
    std::vector<Content> contents_;
};

} // namespace anchorhold::config
