// SPDX-License-Identifier: Apache-2.0
// The member names of an OCI config.json that we, or the runtimes, go by.
#pragma once

#include "schema/json/json.hpp"

#include <cstdint>

namespace anchorhold::config {

// What of a config.json is relied on.
enum class OciKeys : std::uint8_t {
    openness, // of a container that may be left alone: its annotations and its namespaces
    all,
};

// Refuses names that runtimes could read in two ways. Go's decoder, hence runc, takes "Linux" for
// "linux" (and U+017F for s, U+212A for k); crun and we do not. So in every object of fixed shape
// two things are refused: a name that folds to a known one without being it, and two names that
// fold together. Free maps (annotations, sysctl) are not looked into. A root that is no object is
// refused too. With OciKeys::openness only the names are looked at that lead to annotations and
// namespaces: whatever else a runtime makes of an open container is the runtime's matter.
Status check_oci_keys(json::View config, OciKeys relied_on);

} // namespace anchorhold::config
