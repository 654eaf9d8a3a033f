// SPDX-License-Identifier: Apache-2.0
// delete: the delegate first, then what we made for the run (DESIGN 3.13). Whatever goes wrong
// with ours is gc's: an engine whose delete fails never comes back (its user sees nothing of it,
// and the container's state stays for good).
#include "hooks/teardown.hpp"
#include "shim/delegate.hpp"
#include "shim/session.hpp"

namespace anchorhold {

Result<int> delete_container(const Session& session)
{
    const auto run = find_own_run(session);
    const bool many = session.invocation.last("regex") != nullptr; // crun's; the id is a pattern
    if (!many && (!run || !*run))
        return std::unexpected(exec_delegate(session.delegate, session.rest));
    AH_TRY(const int status, run_delegate(session.delegate, session.rest), "");
    // Both do nothing for a run whose init lives: a container that runs is not deleted.
    if (run && *run)
        (void)teardown((*run)->state, (*run)->key);
    if (many)
        if (const auto state = StateDir::existing(session.state_path); state && *state)
            (void)gc(**state, Sweep::remove);
    return status;
}

} // namespace anchorhold
