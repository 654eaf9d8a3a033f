// SPDX-License-Identifier: Apache-2.0
// The input is a config.json, which goes through the gate and the edits. tests/fixtures are seeds
// as good as the corpus.
#include "shim/config/oci_keys.hpp"
#include "shim/edit/mount_place.hpp"
#include "tests/fuzz/entry.hpp"
#include "tests/shim/everything.hpp"

using namespace anchorhold;
using namespace anchorhold::config;
using namespace anchorhold::edit;
using json::Document;

namespace {

void check(const Document& before, const Plan& plan)
{
    const auto edited = edit_config(before, plan);
    if (!edited)
        return;
    const auto after = Document::parse(edited->text);
    must(after && check_oci_keys(after->root(), config::OciKeys::all));
    must(changed_outside(before.root(), after->root()).empty());
    const auto again = edit_config(*after, plan);
    must(again && again->text == edited->text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto document = Document::parse({reinterpret_cast<const char*>(data), size});
    if (!document || !check_oci_keys(document->root(), config::OciKeys::all))
        return 0;
    Plan severed;
    severed.mark = "0123456789ab.0011223344556677";
    check(*document, severed);
    check(*document, everything());
    // Any answer is right here, because what the host has at / is no part of the input.
    (void)mount_place(document->root(), "/");
    return 0;
}
