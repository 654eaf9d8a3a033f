// SPDX-License-Identifier: Apache-2.0
// As much of gRPC as one call of a container engine's CRI takes: protocol buffers of texts, the
// frames of one HTTP/2 stream (RFC 9113), and of the headers what went wrong (RFC 7541). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anchorhold::engine {

// One field of a message that is text, or a message itself.
std::string field(std::uint32_t number, std::string_view content);
// Returns the contents of each such field of that number, in order; fields of other kinds are
// passed over. What is no message has the fields that come before that.
std::vector<std::string> fields(std::string_view message, std::uint32_t number);

// Returns all that a client sends on a new connection to call `method`, which is
// "/runtime.v1.RuntimeService/Version".
std::string grpc_request(std::string_view method, std::string_view message);

// What comes back on that connection.
class GrpcAnswer {
public:
    // Takes what was received, in pieces of any size. Returns what is to be sent back.
    std::string take(std::string_view received);
    bool has_ended() const { return ended_; }
    // Returns the message that the call returned; nothing: it failed, or has not ended.
    std::optional<std::string> message() const;
    // Returns why the call failed, in the server's words where it has any.
    std::string error() const;

private:
    std::string take_frame(std::uint8_t type, std::uint8_t flags, std::string_view payload);
    void take_headers(std::string_view block);

    std::string pending_, data_, block_;
    std::string status_, says_;
    bool ended_ = false;
    bool ends_with_block_ = false;
};

// Returns the text that HPACK's code stands for; what is not printable ends it.
std::string huffman_text(std::string_view code);

} // namespace anchorhold::engine
