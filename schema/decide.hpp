// SPDX-License-Identifier: Apache-2.0
// From what was asked and what the probes proved to what will hold. Pure.
#pragma once

#include "schema/request.hpp"

namespace anchorhold {

struct HostCaps { // what probes proved, never what is installed
    bool can_isolate = false;
    bool can_relay = false;
    friend bool operator==(const HostCaps&, const HostCaps&) = default;
};

struct Decision { // one that nobody filled in is the safe one
    Egress asked = Egress::off;
    Posture posture = Posture::severed;
    Technique technique = Technique::none;
    Why why = Why::as_asked;
    bool untouched = false; // open with nothing to add: config.json is not edited, no record
    friend bool operator==(const Decision&, const Decision&) = default;
};

// Refuses what is not available yet (posture_unavailable: an allowlist with entries, a tcp:
// endpoint), what cannot be severed here (posture_unavailable), and an endpoint this host cannot
// relay (endpoint_unavailable). What `require: asked` refuses, resolve() has refused already.
Result<Decision> decide(const Request& request, const HostCaps& host);

std::string sentence_for(const Request& request, const Decision& decision);

} // namespace anchorhold
