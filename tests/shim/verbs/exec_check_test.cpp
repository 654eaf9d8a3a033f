// SPDX-License-Identifier: Apache-2.0
#include "shim/verbs/exec_check.hpp"

#include <doctest/doctest.h>

namespace anchorhold::exec_check_test {

using verbs::writable_kernel_files;
namespace {

std::string line(const std::string& root, const std::string& place, const std::string& options,
                 const std::string& type)
{
    return "36 35 0:33 " + root + " " + place + " " + options + " shared:1 master:2 - " + type +
           " none rw\n";
}

} // namespace

TEST_CASE("a kernel filesystem that root could write is found by what is mounted now")
{
    const std::string proc = line("/", "/proc", "rw,nosuid", "proc");
    const std::string sys_of_proc = line("/sys", "/proc/sys", "ro,nosuid", "proc");
    const std::string usual = line("/", "/", "rw", "overlay") + proc + sys_of_proc +
                              line("/bus", "/proc/bus", "rw", "proc") +
                              line("/", "/sys", "ro,nosuid", "sysfs");
    CHECK(writable_kernel_files(usual) == "");
    CHECK(writable_kernel_files("") == "");
    CHECK(writable_kernel_files(proc) == "/proc");
    CHECK(writable_kernel_files(proc + line("/sys", "/proc/sys", "rw", "proc")) == "/proc");
    CHECK(writable_kernel_files(usual + line("/sys/kernel", "/knobs", "rw", "proc")) == "/knobs");
    CHECK(writable_kernel_files(usual + line("/", "/sys2", "rw,relatime", "sysfs")) == "/sys2");
    CHECK(writable_kernel_files(line("/", "/sys", "rw", "sysfs") +
                                line("/", "/sys", "ro", "sysfs")) == "");
}

} // namespace anchorhold::exec_check_test
