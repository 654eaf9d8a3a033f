// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schema/import/draft.hpp"

namespace anchorhold::imports {

Result<Draft> draft_from_srt(json::View root);

} // namespace anchorhold::imports
