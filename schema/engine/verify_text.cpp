// SPDX-License-Identifier: Apache-2.0
// The output of `verify`. The first line is the verdict, and nothing stands above an alarm.
#include "schema/engine/verify.hpp"
#include "schema/json/json.hpp"
#include "schema/render.hpp"

#include <algorithm>

namespace anchorhold::engine {
namespace {

std::string first_line(const EngineSetup& setup, const std::vector<VerifyRow>& rows)
{
    const std::string engine(word_for(setup.engine));
    const auto ours = std::ranges::count_if(rows, [](const VerifyRow& row) {
        return row.trial == "confined" || row.trial == "answered";
    });
    switch (verdict_of(setup)) {
    case Verdict::verified:
        return "verified: " + engine + ", " + std::to_string(ours) +
               (ours == 1 ? " way leads" : " ways lead") + " to anchorhold";
    case Verdict::faulty:
        return "NOT VERIFIED: " + engine + ", " + std::to_string(setup.faults.size()) +
               (setup.faults.size() == 1 ? " finding" : " findings");
    case Verdict::alarm: break;
    }
    const auto fault = std::ranges::find(setup.faults, FaultKind::no_record, &Fault::kind);
    return "ALARM: " + engine + ", " + printable(fault->says, 1000);
}

std::string_view word_for(Verdict verdict)
{
    switch (verdict) {
    case Verdict::verified: return "verified";
    case Verdict::faulty: return "not_verified";
    case Verdict::alarm: return "alarm";
    }
    std::abort(); // a byte that is no Verdict
}

std::string or_dash(const std::string& text)
{
    return text.empty() ? "-" : printable(text, 600);
}

} // namespace

std::string verify_text(const EngineSetup& setup, const std::vector<VerifyRow>& rows)
{
    std::string text = first_line(setup, rows) + "\n";
    if (!rows.empty()) {
        std::vector<std::vector<std::string>> table{{"WAY", "TRIAL", "PROFILE", "SENTENCE"}};
        for (const VerifyRow& row : rows) {
            table.push_back(
                {printable(row.way), row.trial, or_dash(row.profile), or_dash(row.sentence)});
        }
        text += render_table(table);
    }
    for (const Fault& fault : setup.faults) {
        text += std::string(word_for(fault.kind)) + ": " + printable(fault.says, 1000) + "\n";
        text += "  remedy: " + printable(fault.remedy, 500) + "\n";
    }
    for (const std::string& note : setup.notes)
        text += "note: " + note + "\n";
    return text;
}

void write_faults(json::Writer& writer, const std::vector<Fault>& faults)
{
    writer.begin_array();
    for (const Fault& fault : faults) {
        writer.begin_object().member("name", word_for(fault.kind));
        writer.member("runtime", fault.handler).member("says", fault.says);
        writer.member("remedy", fault.remedy).end_object();
    }
    writer.end_array();
}

std::string verify_json(const EngineSetup& setup, const std::vector<VerifyRow>& rows)
{
    json::Writer writer(json::Layout::pretty);
    writer.begin_object().member("engine", word_for(setup.engine));
    writer.member("verdict", word_for(verdict_of(setup))).member("default", setup.fallback);
    writer.key("ways").begin_array();
    for (const VerifyRow& row : rows) {
        writer.begin_object().member("way", row.way).member("runtime", row.handler);
        writer.member("program", row.program);
        writer.member("profile", row.profile).member("trial", row.trial);
        writer.member("sentence", row.sentence).end_object();
    }
    writer.end_array().key("findings");
    write_faults(writer, setup.faults);
    writer.strings("notes", setup.notes).end_object();
    return writer.take();
}

} // namespace anchorhold::engine
