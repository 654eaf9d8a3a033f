// SPDX-License-Identifier: Apache-2.0
// without-i386 COMMAND...: runs it as on a kernel that has no 32-bit calls: whoever makes one is
// killed. By a seccomp filter, which all its children inherit.
#include <cstddef>
#include <cstdio>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char** words)
{
    sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_I386, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{sizeof rules / sizeof *rules, rules};
    if (count < 2 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0) {
        std::perror("without-i386");
        return 125;
    }
    execvp(words[1], words + 1);
    std::perror(words[1]);
    return 127;
}
