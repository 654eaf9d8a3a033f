// SPDX-License-Identifier: Apache-2.0
// The member names of an OCI config.json that we, or the runtimes below us, go by.
#pragma once

#include "schema/json/json.hpp"

namespace anchorhold::config {

// Go's decoder, hence runc, takes "Linux" (and U+017F for s, U+212A for k) for "linux"; crun and we
// do not. So in every object of fixed shape a name that folds to a known one without being it is
// refused, and so are two names that fold together. Free maps (annotations, sysctl) are not looked
// into. Refuses a root that is no object.
Status check_oci_keys(json::View config);

} // namespace anchorhold::config
