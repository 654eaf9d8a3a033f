// SPDX-License-Identifier: Apache-2.0
// The member names of an OCI config.json that we, or the runtimes, go by.
#pragma once

#include "schema/json/json.hpp"

namespace anchorhold::config {

// Refuses names that runtimes could read in two ways. Go's decoder, hence runc, takes "Linux" for
// "linux" (and U+017F for s, U+212A for k); crun and we do not. So in every object of fixed shape
// two things are refused: a name that folds to a known one without being it, and two names that
// fold together. Free maps (annotations, sysctl) are not looked into. A root that is no object is
// refused too.
Status check_oci_keys(json::View config);

} // namespace anchorhold::config
