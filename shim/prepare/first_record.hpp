// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shim/prepare/prepare.hpp"

namespace anchorhold::prepare {

// The record of a prepared run as it is first written: state planned.
Result<Record> first_record(const Session& session, const PreparedRun& run, const ContainerId& id);

} // namespace anchorhold::prepare
