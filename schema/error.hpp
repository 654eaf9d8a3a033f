// SPDX-License-Identifier: Apache-2.0
// What the world can refuse. An error is a value: a code that operators and programs can look up
// (DESIGN 9), the kernel's number if there was one, and a sentence that grows from the left.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace anchorhold {

enum class Code : std::uint8_t {
    network_setup_failed, // a system call failed: refuse
    invalid_request,      // annotations, command line or bundle: the caller must change something
    invalid_policy,
    config_ambiguous, // config.json means different things to different readers
    policy_ceiling,
    endpoint_unavailable,
    posture_unavailable,
    bundle_voids_posture,
    delegate_failed,
};

// The code as users meet it at the end of a message and in records: "endpoint_unavailable".
std::string_view name_of(Code code);

struct [[nodiscard]] Error {
    Code code = Code::network_setup_failed;
    int number = 0; // errno, or 0
    std::string what;

    // Puts what we were doing in front of the sentence. Left out where the sentence already names
    // its thing and more words would only push it out of sight.
    Error in(std::string_view doing = {}) &&
    {
        if (!doing.empty())
            what.insert(0, std::string(doing) + ": ");
        return std::move(*this);
    }
};

template <typename T> using Result = std::expected<T, Error>;
using Status = Result<void>; // it worked, there is nothing to hand back

// "open /run/x: file permissions forbid it (EACCES)". Never uses the phrases that podman rewrites
// into something else ("permission denied", "no such file", "operation not permitted").
[[nodiscard]] Error system_error(std::string_view doing, int number,
                                 Code code = Code::network_setup_failed);
[[nodiscard]] inline std::unexpected<Error> fail(Code code, std::string what)
{
    return std::unexpected(Error{code, 0, std::move(what)});
}
[[nodiscard]] inline std::unexpected<Error> fail_errno(std::string_view doing, int number,
                                                       Code code = Code::network_setup_failed)
{
    return std::unexpected(system_error(doing, number, code));
}

// Text from outside, safe to print on one line: control characters (bidirectional ones too) and
// invalid UTF-8 become \xNN; at most `limit` bytes of it are shown, then "...". Printing what was
// printed changes nothing, so a whole sentence may pass through it again.
std::string printable(std::string_view text, std::size_t limit = 200);
// The same between double quotes; quotes and backslashes in it are escaped as well.
std::string in_quotes(std::string_view text, std::size_t limit = 200);

// NOLINTBEGIN(bugprone-macro-parentheses): what is declared cannot stand in any
#define AH_JOIN_(a, b) a##b
#define AH_JOIN(a, b) AH_JOIN_(a, b)
#define AH_TRY_(held, declaration, expression, ...)                                                \
    auto held = (expression);                                                                      \
    if (!held)                                                                                     \
        return std::unexpected(std::move(held).error().in(__VA_ARGS__));                           \
    declaration = *std::move(held)
// Declares from a Result, or returns its error, with what we were doing as an optional last
// argument. A statement, alone on its line.
#define AH_TRY(declaration, expression, ...)                                                       \
    AH_TRY_(AH_JOIN(held_, __LINE__), declaration, expression __VA_OPT__(, ) __VA_ARGS__)
#define AH_CHECK_(held, expression, ...)                                                           \
    if (auto held = (expression); !held)                                                           \
    return std::unexpected(std::move(held).error().in(__VA_ARGS__))
// Returns the error of a Status, if it has one, in the same way.
#define AH_CHECK(expression, ...)                                                                  \
    AH_CHECK_(AH_JOIN(held_, __LINE__), expression __VA_OPT__(, ) __VA_ARGS__)
// NOLINTEND(bugprone-macro-parentheses)

} // namespace anchorhold
