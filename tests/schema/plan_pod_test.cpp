// SPDX-License-Identifier: Apache-2.0
#include "tests/schema/plans.hpp"

namespace anchorhold::plan_pod_test {
using namespace anchorhold::plans;

TEST_CASE("a container that shares its pod's network is confined, looks itself, and gets no relay "
          "of its own")
{
    Request request = asking(Egress::off);
    request.endpoints = {model.endpoint};
    const auto shares = [&request](Posture posture) {
        return make_plan(request, {.posture = posture, .technique = Technique::pod, .detail = {}},
                         {}, paths());
    };
    Plan relayed = confined();
    relayed.network = NetworkNamespace::pods;
    relayed.drop_setkey_hook = false;
    relayed.cover_resolv_conf = true;
    relayed.resolv_conf = "/run/anchorhold/runs/0123456789ab/inside/resolv.conf";
    CHECK(shares(Posture::relayed) == looking(relayed));
    Plan within = filtered();
    within.network = NetworkNamespace::pods;
    within.drop_setkey_hook = false;
    within.exempt_relay = true;
    CHECK(shares(Posture::filtered) == looking(within));
}

TEST_CASE("only a sandbox's relay is given a share of the processor")
{
    for (const PodRole role : {PodRole::none, PodRole::container, PodRole::sandbox}) {
        Request request = asking(Egress::off);
        request.role = role;
        CHECK(planned(request, {model}).least_cpu_shares == (role == PodRole::sandbox ? 1024 : 0));
        CHECK(planned(request, {}).least_cpu_shares == 0); // its process never runs
    }
}

} // namespace anchorhold::plan_pod_test
