// SPDX-License-Identifier: Apache-2.0
// The words in braces in the socket's path of a profile. They stand for what a container is called:
// {id}, {hostname}, {annotation:KEY}. Pure.
#pragma once

#include "schema/json/json.hpp"
#include "schema/run_key.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace anchorhold {

enum class Pods : std::uint8_t { no, yes };

// Refuses (invalid_policy) a word that is none of the three. Refuses {hostname} for pods, whose
// containers have none in config.json.
Status check_path_words(std::string_view path, Pods pods);

// Returns whether each container has a path of its own.
bool has_path_words(std::string_view path);

// Returns the path with its words filled in. Each value is one component of a path, as an id is, so
// the path keeps its shape. Refuses (endpoint_unavailable) what config.json does not have, and
// (invalid_request) a value that is no component. Without a config.json its words stay.
Result<std::string> fill_path_words(std::string_view path, const ContainerId& id,
                                    const std::optional<json::View>& config);

} // namespace anchorhold
