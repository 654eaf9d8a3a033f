// SPDX-License-Identifier: Apache-2.0
// Errors as values: a code that operators and programs can look up, the kernel's error number if
// there was one, and a sentence to which each caller adds its part in front.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace anchorhold {

enum class Code : std::uint8_t {
    network_setup_failed, // a system call failed, and nothing is run
    // Annotations, command line or bundle are wrong: the caller must change something.
    invalid_request,
    invalid_policy,       // the policy file is missing or wrong
    config_ambiguous,     // config.json means different things to different readers
    policy_ceiling,       // the policy does not permit what is required
    endpoint_unavailable, // an endpoint cannot be reached or offered
    posture_unavailable,  // this host or version cannot give what is required
    bundle_voids_posture, // something in the bundle leads round the confinement
    delegate_failed,      // the runtime failed
};

// Returns the code as users meet it at the end of a message and in records: "endpoint_unavailable".
std::string_view name_of(Code code);

struct [[nodiscard]] Error {
    Code code = Code::network_setup_failed;
    int number = 0; // errno, or 0
    std::string what;

    // Puts what we were doing in front of the sentence. Callers leave it out where the sentence
    // already names its thing, because more words would only hide it.
    Error in(std::string_view doing = {}) &&
    {
        if (!doing.empty())
            what.insert(0, std::string(doing) + ": ");
        return std::move(*this);
    }
};

template <typename T> using Result = std::expected<T, Error>;
using Status = Result<void>; // success, with no value to return

// Returns an error like "open /run/x: file permissions forbid it (EACCES)". It never uses the
// phrases that podman rewrites into something else ("permission denied", "no such file", "operation
// not permitted").
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

// Returns text from outside so that it is safe to print on one line. Control characters
// (bidirectional ones too) and invalid UTF-8 become \xNN. At most `limit` bytes of it are shown,
// then "...". Printable text stays as it is, so a whole sentence may pass through here again.
std::string printable(std::string_view text, std::size_t limit = 200);
// Returns the same between double quotes; quotes and backslashes in the text are escaped as well.
std::string in_quotes(std::string_view text, std::size_t limit = 200);
// Returns the same of what another program printed, its lines joined by "; ".
std::string one_line(std::string_view text);

// NOLINTBEGIN(bugprone-macro-parentheses): what is declared cannot stand in any
#define AH_JOIN_(a, b) a##b
#define AH_JOIN(a, b) AH_JOIN_(a, b)
#define AH_TRY_(held, declaration, expression, ...)                                                \
    auto held = (expression);                                                                      \
    if (!held)                                                                                     \
        return std::unexpected(std::move(held).error().in(__VA_ARGS__));                           \
    declaration = *std::move(held)
// Declares a variable from a Result, or returns the Result's error. The optional last argument says
// what we were doing. It is several statements, so it must not be the body of an `if` without
// braces.
#define AH_TRY(declaration, expression, ...)                                                       \
    AH_TRY_(AH_JOIN(held_, __LINE__), declaration, expression __VA_OPT__(, ) __VA_ARGS__)
#define AH_CHECK_(held, expression, ...)                                                           \
    if (auto held = (expression); !held)                                                           \
    return std::unexpected(std::move(held).error().in(__VA_ARGS__))
// Returns from the function with the error of a Status, if it has one. The optional last argument
// is the same.
#define AH_CHECK(expression, ...)                                                                  \
    AH_CHECK_(AH_JOIN(held_, __LINE__), expression __VA_OPT__(, ) __VA_ARGS__)
// NOLINTEND(bugprone-macro-parentheses)

} // namespace anchorhold
