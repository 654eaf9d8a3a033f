#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs anchorhold on a node and tells containerd or CRI-O of it, or undoes both.
#
#     install.sh [OPTION...] install
#     install.sh [OPTION...] uninstall
#     install.sh [OPTION...] verify      says whether the node's engines call anchorhold
#     install.sh [OPTION...] gc          takes away what is left of runs that were killed
#
#     --root DIR         the node's root directory; default /
#     --from DIR         what `meson install` made, with bin and libexec in it; default: beside this file
#     --prefix DIR       where on the node the programs go; default /opt/anchorhold
#     --policy FILE      install FILE as the node's /etc/anchorhold/policy.json
#     --profiles 'A B'   profiles with a handler anchorhold-PROFILE of their own; default 'agent ci'
#     --config FILE      containerd's main configuration file; default: see below
#     --restart          restart the engine when its configuration was changed
#
# install checks everything before it changes anything, so a refusal changes nothing. It writes a
# file of its own only where there is none, or where the file is its own and unchanged.
# PREFIX/installed lists these with their digests. Everything is written beside its place and then
# renamed: first the programs, then the links, the policy, and what an engine reads last.
#
# `anchorhold setup` tells the engines, and takes it back byte for byte. It runs on the node.
#
# containerd's file is the one that the containerd which runs on the node was started with; if none
# runs, the one that its unit names; without either, containerd's own default. Where these leave a
# doubt install refuses, and --config says it.
#
# uninstall refuses while `anchorhold runs` lists a live run, because the run still needs the programs
# for its delete and its poststop hook. Remove the RuntimeClasses first, so that no new runs come.
set -eu
LC_ALL=C
export LC_ALL
umask 022 # anchorhold refuses files that others than root could write to

policy_file=/etc/anchorhold/policy.json
tmpfiles=/etc/tmpfiles.d/anchorhold.conf
usual_main=/etc/containerd/config.toml
binaries='libexec/anchorhold/anchorhold-hook libexec/anchorhold/anchorhold-relay libexec/anchorhold/anchorhold-gate bin/anchorhold'
lib=libexec/anchorhold/lib # the hook's own loader and libraries, where contrib/kubernetes/bundle was run

root='' from=$(dirname "$0") prefix=/opt/anchorhold policy='' profiles='agent ci' config='' restart='' verb=''
main='' rendered='' address='' daemon=''

refuse() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

say() { printf '%s\n' "$*"; }

node() { PATH=$PATH${daemon:+:${daemon%/*}} chroot "${root:-/}" "$@"; } # runs a program of the node

# real PATH: prints where a path of the node leads, with links followed as the node follows them.
real() {
    real='' rest=${1#/} hops=0
    while [ -n "$rest" ]; do
        part=${rest%%/*}
        case $rest in */*) rest=${rest#*/} ;; *) rest='' ;; esac
        case $part in
            '' | .) continue ;;
            ..) real=${real%/*} && continue ;;
        esac
        if [ ! -h "$root$real/$part" ]; then
            real=$real/$part
            continue
        fi
        hops=$((hops + 1))
        [ "$hops" -lt 40 ] || refuse "$1 goes in circles on this node"
        rest=$(readlink "$root$real/$part")/$rest
        case $rest in /*) real='' ;; esac
    done
    say "$real"
}

set_places() { # once --root and --prefix are known
    case $prefix in
        /*/* | /opt) ;;
        *) refuse "--prefix needs an absolute path of two parts or more" ;;
    esac
    named_prefix=$prefix
    prefix=$(real "$prefix")
    list=$prefix/installed # "DIGEST  FILE" as sha256sum has it, and MARK  FILE, see the functions of lists
    staged=$prefix/staged
    unread=$prefix/unread # engines to restart: their configuration was changed
}

# has_place DIRECTORY: refuses where nothing can be written.
has_place() {
    place=$1
    while [ ! -e "$root$place" ] && [ -n "$place" ]; do place=${place%/*}; done
    if [ ! -d "$root$place/" ] || [ ! -w "$root$place/" ]; then
        refuse "${place:-/} is read-only on this node, or no folder; $2"
    fi
}

# ---- what anchorhold says of the engines ---------------------------------------------------------

ask() { # FILE: keeps what anchorhold reads in the engines' configuration; FILE is containerd's
    file=$1
    if [ -x "$root$staged/bin/anchorhold" ]; then
        set -- "$staged/bin/anchorhold" --ah-state "$staged/state"
    else
        set -- "$prefix/bin/anchorhold"
    fi
    # The exit status is about what the host can do.
    node "$@" doctor --json --config "$file" >"$work/doctor" 2>"$work/why" || true
    grep -q '^  "engines": ' "$work/doctor" ||
        refuse "anchorhold doctor gives no answer: $(head -n 1 "$work/why")"
}

# Prints the handlers that doctor found for an engine, "NAME FILE PROGRAM" each.
handlers() { # ENGINE
    awk -v engine="$1" '
        function value(line) { gsub(/^[^:]*: "|^ *"|",?$/, "", line); return line }
        /^      "name": / { on = value($0) == engine }
        !on { next }
        /^      "/ { list = $1 }
        list != "\"runtimes\":" { next }
        /^          "name": / { name = value($0) }
        /^          "file": / { file = value($0) }
        /^            "/ { program = program == "" ? value($0) : program }
        /^        }/ { print name, file, program; program = "" }' "$work/doctor"
}

our_handlers() { # of containerd's, "NAME PROGRAM" each
    handlers containerd | while read -r name _ program; do
        case $program in "$prefix"/bin/*) say "$name $program" ;; esac
    done | sort
}

# ---- our own files -------------------------------------------------------------------------------

digest() { sha256sum "$1" | cut -d' ' -f1; }

is_as_we_left_it() { # FILE
    [ -f "$root$1" ] && [ ! -h "$root$1" ] &&
        grep -qxF "$(digest "$root$1")  $1" "$root$list" 2>/dev/null
}

# Lines of the list with a word instead of a digest:
#   made  DIRECTORY    it was not there before
#   main  FILE         containerd's main file; rendered  FILE: the same, which its engine writes anew
#   crio  FOLDER       CRI-O was told of us
note() { grep -qxF "$1  $2" "$root$list" 2>/dev/null || printf '%s  %s\n' "$1" "$2" >>"$root$list"; }

noted() { sed -n "s/^$1  //p" "$root$list" 2>/dev/null || true; } # WORD: the files that have it

forget() { # MARK FILE
    { grep -vxF "$1  $2" "$root$list" || true; } >"$work/list"
    cp "$work/list" "$root$list.new"
    mv -f "$root$list.new" "$root$list"
}

# may_write FILE CONTENT: refuses if FILE is somebody else's, or was changed, and is not CONTENT.
may_write() {
    [ -e "$root$1" ] || [ -h "$root$1" ] || return 0
    [ ! -h "$root$1" ] && cmp -s "$2" "$root$1" && return 0
    is_as_we_left_it "$1" ||
        refuse "$1 is not ours, or was changed since; move it away, or put into it by hand:" "
$(cat "$2")"
}

make_directory() {
    if [ -d "$root$1" ]; then return; fi
    make_directory "$(dirname "$1")"
    note made "$1" # first, so that after a crash it is known as ours
    mkdir "$root$1"
}

# put FILE CONTENT: replaces FILE whole or not at all, and lists it as ours.
put() {
    if cmp -s "$2" "$root$1"; then return; fi
    make_directory "$(dirname "$1")"
    cp "$2" "$root$1.anchorhold-new"
    chmod 644 "$root$1.anchorhold-new"
    note "$(digest "$2")" "$1" # first, as above
    mv -f "$root$1.anchorhold-new" "$root$1"
    label "$1"
    say "wrote $1"
}

# label FILE...: gives files the SELinux labels that their places have. A program of ours runs in its
# caller's domain with bin_t, which the node's policy has for bin and libexec below /opt.
label() {
    [ -e "$root/sys/fs/selinux/enforce" ] || return 0
    if has_program restorecon; then
        node restorecon -RF "$@"
    elif has_program chcon; then
        for file in "$@"; do
            case $file in
                "$prefix"/*) node chcon -R -t bin_t "$file" ;;
                *) node chcon --reference "$(dirname "$file")" "$file" ;;
            esac
        done
    else
        say "SELinux is on and the node has neither restorecon nor chcon: $* keep the label they have"
    fi
}

# ---- which file containerd reads -----------------------------------------------------------------

# Reads a command line of containerd's, a word a line. Prints "CONFIG ADDRESS", "-" for no address;
# nothing for a call that starts no daemon.
read_command_line() {
    awk -v usual="$usual_main" '
        !on { count = split($0, part, "/"); on = part[count] == "containerd"; next }
        wanted { said[wanted] = $0; wanted = ""; next }
        /^--?(c|config|a|address)(=|$)/ {
            sub(/^--?/, "")
            wanted = substr($0, 1, 1)
            if (sub(/^[^=]*=/, "")) { said[wanted] = $0; wanted = "" }
            next
        }
        /^(config|publish|oci-hook|help)$/ || /^--?(v|version|h|help)$/ { on = 0; exit }
        END { if (on) print ("c" in said ? said["c"] : usual), ("a" in said ? said["a"] : "-") }'
}

is_of_node() { # PID: does this process have the node's root?
    [ "$(stat -L -c %d:%i "$root/proc/$1/root/." 2>/dev/null)" = "$(stat -L -c %d:%i "$root/.")" ]
}

running() { # prints "CONFIG ADDRESS PROGRAM" for each containerd that runs on the node
    for one in "$root"/proc/[0-9]*; do
        { read -r name <"$one/comm"; } 2>/dev/null || continue
        if [ "$name" != containerd ] || ! is_of_node "${one##*/}"; then continue; fi
        program=$(readlink "$one/exe") || continue
        program=${program#"$root"}
        case $program in */containerd | */containerd' '*) program=${program%% *} ;; *) program=- ;; esac
        tr '\0' '\n' <"$one/cmdline" | read_command_line | sed "s,\$, $program,"
    done | sort -u
}

by_unit() { # the same of containerd's unit; "?" where its command says nothing
    node systemctl cat containerd.service 2>/dev/null | awk '
        /\\$/ { sub(/\\$/, " "); line = line $0; next }
        { line = line $0; if (sub(/^ExecStart=/, "", line)) command = line; line = "" }
        END { count = split(command, word); for (i = 1; i <= count; i++) print word[i] }' |
        tr -d "\"'" >"$work/unit"
    if [ -s "$work/unit" ]; then
        said=$(read_command_line <"$work/unit")
        say "${said:-? -} -"
    fi
}

if_none_runs() {
    by_unit >"$work/by-unit"
    if [ -s "$work/by-unit" ]; then
        cat "$work/by-unit"
    elif [ -e "$root$usual_main" ] || [ -h "$root$usual_main" ] || has_program containerd; then
        say "$usual_main - -"
    fi
    for distribution in k3s rke2; do
        file=/var/lib/rancher/$distribution/agent/etc/containerd/config.toml
        [ ! -e "$root$file" ] || say "$file - -"
    done
}

# Sets main, and of a containerd that runs its address and program; main is empty where there is no
# containerd.
decide_main() {
    running >"$work/ways"
    if [ -n "$config" ]; then
        grep "^$config " "$work/ways" >"$work/that" || say "$config - -" >"$work/that"
        mv "$work/that" "$work/ways"
    elif [ ! -s "$work/ways" ]; then
        if_none_runs >"$work/ways"
    fi
    named=$(cut -d' ' -f1 "$work/ways" | sort -u | tr '\n' ' ')
    case ${named% } in
        '') return ;;
        *' '*) refuse "there are several configurations of containerd: ${named% }; name the kubelet's with --config" ;;
        *[!A-Za-z0-9_./@:+-]* | [!/]*) refuse "containerd's configuration is \"${named% }\" by its command or" \
            "unit, which says nothing here; name the file with --config" ;;
    esac
    read -r main address daemon <"$work/ways"
    [ "$address" != - ] || address=''
    [ "$daemon" != - ] || daemon=''
    [ ! -h "$root$main" ] || [ -e "$root$(real "$main")" ] || refuse "$main is a link that leads nowhere"
    main=$(real "$main")
    case $main in */agent/etc/containerd/config.toml) rendered=yes ;; esac
}

# ---- an engine is told ----------------------------------------------------------------------------

setup() { # PROGRAM ENGINE WORD...: `anchorhold setup ENGINE WORD...` of the installed program or the staged one
    program=$1 engine=$2
    shift 2
    [ "$engine" != containerd ] || set -- --config "$main" "$@"
    if [ "$program" != "$prefix/bin/anchorhold" ] && [ -n "$policy" ]; then
        node "$program" --ah-policy "$staged/policy.json" setup "$engine" "$@"
    else
        node "$program" setup "$engine" "$@"
    fi >"$work/said" 2>"$work/why" || refuse "$(head -n 1 "$work/why")"
}

our_profiles() { for profile in $profiles; do printf -- '--profile %s ' "$profile"; done; }

# Prints the files that setup said it writes.
to_write() { sed -n 's/^write \(.*[^:]\):*$/\1/p' "$work/said"; }

# Are the handlers there by hand? Then setup has nothing to do, and would refuse to do it.
is_told_by_hand() { # ENGINE
    handlers "$1" >"$work/handlers"
    for profile in $profiles; do
        while read -r handler file program; do
            [ "$handler $program" != "anchorhold-$profile $prefix/bin/anchorhold-$profile" ] ||
                grep -Eq '^# (BEGIN anchorhold|Written by `anchorhold setup )' "$root$file" || continue 2
        done <"$work/handlers"
        return 1
    done
}

# Refuses where the engine cannot be told.
plan() { # ENGINE
    ! is_told_by_hand "$1" || return 0
    # shellcheck disable=SC2046 # words
    setup "$staged/bin/anchorhold" "$1" $(our_profiles)
    cat "$work/why" >&2
    for file in $(to_write); do
        has_place "$(dirname "$file")" "$file belongs there"
        [ ! -e "$root${file%.toml}-template.toml" ] ||
            refuse "$file is written anew from ${file%.toml}-template.toml, which would lose our lines"
        case $file in
            */config.toml.tmpl) [ -e "$root$file" ] || knows_base || refuse "a k3s or RKE2 older than 1.28 may" \
                "not know the template \"base\"; make $file by hand, and run this again" ;;
        esac
    done
}

knows_base() { # "k3s version v1.28.1+k3s1"
    for program in /usr/local/bin/k3s /usr/local/bin/rke2 /opt/rke2/bin/rke2 /usr/bin/k3s /usr/bin/rke2; do
        [ ! -x "$root$program" ] || node "$program" --version 2>/dev/null || true
    done | grep -Eq ' version v1\.(2[89]|[3-9][0-9])\.'
}

tell() { # ENGINE
    ! is_told_by_hand "$1" || return 0
    # shellcheck disable=SC2046
    setup "$prefix/bin/anchorhold" "$1" $(our_profiles)
    ! grep -qx 'nothing to change' "$work/said" || return 0
    directory=$(sed -n 's/^make //p' "$work/said")
    [ -z "$directory" ] || make_directory "$directory"
    say "$1" >>"$root$unread" # first, so that after a crash it is known
    # shellcheck disable=SC2046
    setup "$prefix/bin/anchorhold" "$1" $(our_profiles) --write
    for file in $(to_write); do
        label "$file"
        say "wrote $file"
    done
    [ "$1" = containerd ] && [ -z "$rendered" ] || return 0
    check_by_containerd && return 0
    mv "$work/why" "$work/because"
    setup "$prefix/bin/anchorhold" "$1" --remove
    refuse "containerd does not know our handlers by $main and what it imports, where they are taken out again:" \
        "$(head -n 1 "$work/because")"
}

# Has the node's containerd read its file, and looks for our handlers in what it says it has read.
# Where it is not there, or does not say, nothing is known against the file.
check_by_containerd() {
    node "${daemon:-containerd}" --version >/dev/null 2>&1 || return 0
    node "${daemon:-containerd}" --config "$main" config dump >"$work/dump" 2>"$work/why" || return 1
    grep -q '^version = ' "$work/dump" || return 0
    ask "$main"
    our_handlers >"$work/wanted"
    sed '/^imports = /d' "$work/dump" >"$root$staged/dump.toml"
    ask "$staged/dump.toml"
    our_handlers >"$work/known"
    say "it dumps others" >"$work/why"
    cmp -s "$work/wanted" "$work/known"
}

# ---- install ------------------------------------------------------------------------------------

has_program() { # NAME
    for directory in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
        [ ! -x "$root$directory/$1" ] || return 0
    done
    return 1
}

find_engines() {
    engines=''
    decide_main
    if [ -n "$main" ]; then engines=containerd; fi
    if [ -d "$root/etc/crio" ] || has_program crio; then engines="$engines crio"; fi
    [ -n "$engines" ] || refuse "neither containerd nor CRI-O is on this node"
}

# Refuses links on the node, because seen from outside of its root they lead somewhere else.
check_links() {
    if [ -z "$root" ]; then return; fi
    for place in /etc /etc/anchorhold /etc/tmpfiles.d; do
        [ ! -h "$root$place" ] || refuse "$place is a link on this node; run this on the node, without --root"
    done
}

check_prefix() {
    # A folder that holds only "staged" is left from an installation that was killed; it is ours.
    [ ! -e "$root$prefix" ] || [ -f "$root$list" ] || [ "$(ls -A "$root$prefix")" = staged ] ||
        refuse "$prefix is there and was not made by this program; move it away"
    for binary in $binaries; do
        [ -x "$from/$binary" ] || refuse "$from/$binary is missing; see --from"
    done
    has_place "$prefix" "name another place for the programs with --prefix"
}

# Puts the new programs beside the old ones and tries them there. So a hook whose libraries the node
# lacks, a missing runtime, or a policy that cannot be read is found before anything is replaced.
stage() {
    trap 'remove_staged; rm -rf "$work"' EXIT
    mkdir -p "$root$staged/bin" "$root$staged/libexec/anchorhold"
    for binary in $binaries; do
        cp "$from/$binary" "$root$staged/$binary"
        chmod 755 "$root$staged/$binary"
    done
    [ ! -d "$from/$lib" ] || cp -rL "$from/$lib" "$root$staged/$lib"
    label "$staged" # they keep it when they are moved
    [ -z "$policy" ] || cp "$policy" "$root$staged/policy.json"
    [ ! -d "$from/$lib" ] || grep -qaF "$named_prefix/$lib/" "$from/libexec/anchorhold/anchorhold-hook" ||
        refuse "the hook has its libraries, but not for $named_prefix; see contrib/kubernetes/bundle"
    for binary in $binaries; do
        shim_or_helper "$binary" --version >/dev/null 2>"$work/why" ||
            refuse "${binary##*/} does not run on this node: $(head -n 1 "$work/why")" \
                "(needed are libc and libmnl.so.0, and a runtime: runc or crun)"
    done
    for profile in off $profiles; do # off is built in
        why=$(shim_or_helper bin/anchorhold --ah-profile "$profile" check 192.0.2.1 2>&1 >/dev/null) || true
        case $why in *'(invalid_'*) refuse "${policy:-$policy_file}: $why" ;; esac
    done
}

shim_or_helper() { # BINARY WORD...
    binary=$1
    shift
    if [ -n "$policy" ] && [ "$binary" = bin/anchorhold ]; then set -- --ah-policy "$staged/policy.json" "$@"; fi
    if [ -d "$from/$lib" ] && [ "${binary##*/}" = anchorhold-hook ]; then # what it names is not there yet
        for loader in "$from/$lib"/ld-*; do
            set -- "$staged/$lib/${loader##*/}" --library-path "$staged/$lib" "$staged/$binary" "$@"
        done
    else
        set -- "$staged/$binary" "$@"
    fi
    node "$@"
}

remove_staged() {
    rm -rf "$root$staged"
    rmdir "$root$prefix" 2>/dev/null || true # if this would have been the first installation
}

put_binaries() {
    : >>"$root$list" # first, so that after a crash the folder is known as ours
    mkdir -p "$root$prefix/bin" "$root$prefix/libexec/anchorhold"
    put_libraries # before the hook that needs them
    for binary in $binaries; do
        if ! cmp -s "$root$staged/$binary" "$root$prefix/$binary"; then
            mv -f "$root$staged/$binary" "$root$prefix/$binary"
            say "wrote $prefix/$binary"
        fi
    done
    for profile in $profiles; do
        [ -h "$root$prefix/bin/anchorhold-$profile" ] || ln -s anchorhold "$root$prefix/bin/anchorhold-$profile"
    done
}

# A loader and a C library of two versions do not go together. So the libraries lie in a folder named
# after their content, and a link to it changes in one step.
put_libraries() {
    [ -d "$from/$lib" ] || return 0
    folder=${lib##*/}-$(cat "$root$staged/$lib"/* | sha256sum | cut -c 1-12)
    [ -d "$root$prefix/${lib%/*}/$folder" ] || mv "$root$staged/$lib" "$root$prefix/${lib%/*}/$folder"
    [ "$(readlink "$root$prefix/$lib")" != "$folder" ] || return 0
    ln -sfn "$folder" "$root$staged/lib"
    mv -fT "$root$staged/lib" "$root$prefix/$lib"
    say "wrote $prefix/$lib"
    for old in "$root$prefix/$lib"-*; do
        [ "${old##*/}" = "$folder" ] || rm -rf "$old"
    done
}

# Prints the units that start an engine.
units_of() { # ENGINE
    if [ "$1" = crio ] || [ -z "$(noted rendered)" ]; then
        say "$1"
        return
    fi
    for unit in k3s k3s-agent rke2-server rke2-agent; do
        ! node systemctl is-active --quiet "$unit" || say "$unit"
    done
}

# Restarts the engines in $unread, also those whose restart failed in an earlier call.
restart_engines() {
    if [ ! -s "$root$unread" ]; then return; fi
    for engine in containerd crio; do
        grep -qx "$engine" "$root$unread" || continue
        units=$(units_of "$engine")
        if [ -n "$restart" ] && [ -n "$units" ]; then
            for unit in $units; do
                node systemctl try-restart "$unit"
                say "restarted $unit"
            done
        else
            say "restart ${units:-k3s or RKE2}: it reads its configuration when it starts"
        fi
    done
    rm -f "$root$unread"
}

# The directories of contrib/systemd/anchorhold.tmpfiles.conf, now and after each boot.
put_tmpfiles() {
    [ -d "$root/run/brokers" ] || mkdir -m 711 "$root/run/brokers"
    ! has_program systemd-tmpfiles || put "$tmpfiles" "$work/tmpfiles"
}

do_install() {
    check_links
    find_engines
    check_prefix
    [ -z "$policy" ] || may_write "$policy_file" "$policy"
    printf 'd %s 0711 root root -\n' /run/anchorhold /run/brokers >"$work/tmpfiles"
    ! has_program systemd-tmpfiles || may_write "$tmpfiles" "$work/tmpfiles"
    stage
    ask "${main:-$usual_main}"
    for engine in $engines; do plan "$engine"; done
    put_binaries
    [ -z "$policy" ] || put "$policy_file" "$policy"
    put_tmpfiles
    if [ -n "$rendered" ]; then note rendered "$main"; elif [ -n "$main" ]; then note main "$main"; fi
    case $engines in *crio*) note crio /etc/crio ;; esac
    ask "${main:-$usual_main}"
    for engine in $engines; do tell "$engine"; done
    restart_engines
    say "installed"
}

# ---- what is due on a node ------------------------------------------------------------------------

# Runs a program in the node's namespaces, where its links, mounts and processes are. Without the
# node's first process in sight, as `node` does.
on_node() {
    if [ -n "$root" ] && is_of_node 1; then
        nsenter --target 1 --mount --net --ipc --uts --cgroup -- "$@"
    else
        node "$@"
    fi
}

do_gc() {
    [ -f "$root$list" ] || refuse "not installed"
    on_node "$prefix/bin/anchorhold" gc
}

# A throw-away pod below each handler must leave its record.
do_verify() {
    [ -f "$root$list" ] || refuse "not installed"
    [ ! -s "$root$unread" ] || refuse "an engine was not restarted since its configuration was changed"
    find_engines
    for engine in $engines; do
        set -- "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        if [ "$engine" = containerd ]; then
            [ -z "$daemon" ] || set -- "PATH=${daemon%/*}:${1#PATH=}"
            [ -z "$address" ] ||
                set -- "$1" "CONTAINERD_ADDRESS=$address" "CONTAINER_RUNTIME_ENDPOINT=unix://$address"
            set -- "$@" "$prefix/bin/anchorhold" verify --config "$main" containerd
        else
            set -- "$@" "$prefix/bin/anchorhold" verify crio
        fi
        on_node env "$@" || refuse "$engine is not verified"
    done
    say "verified"
}

# ---- uninstall ----------------------------------------------------------------------------------

live_runs() {
    node "$prefix/bin/anchorhold" gc >/dev/null 2>&1 || true # so that dead runs are not counted
    runs=$(node "$prefix/bin/anchorhold" runs --json) || refuse "anchorhold runs gives no answer; nothing was removed"
    [ "$runs" = '[]' ] || node "$prefix/bin/anchorhold" runs
    # A run with egress open may have no record. containerd's shim has noted which program it calls.
    grep -ls "\"binary_name\":\"$prefix/bin/anchorhold" \
        "$root"/run/containerd/io.containerd.runtime.v2.task/*/*/options.json \
        "$root"/run/k3s/containerd/io.containerd.runtime.v2.task/*/*/options.json || true
}

# Has setup take out what it wrote.
untell() {
    for file in $(noted main) $(noted rendered); do
        main=$file
        untell_engine containerd
    done
    [ -z "$(noted crio)" ] || untell_engine crio
}

untell_engine() { # ENGINE
    say "$1" >>"$root$unread" # first, so that after a crash it is known
    setup "$prefix/bin/anchorhold" "$1" --remove
    if grep -qx "nothing of setup's is there" "$work/said"; then
        sed '$d' "$root$unread" >"$work/unread"
        cp "$work/unread" "$root$unread"
        return
    fi
    for file in $(to_write); do label "$file"; done
    sed -n 's/^write \(.*\)/took our lines out of \1/p; s/^remove /removed /p' "$work/said"
}

# Refuses while a configuration that we cannot change still names our programs. What k3s and RKE2
# render is not looked at: it is made anew.
check_nobody_names_us() {
    file=$(noted main | head -n 1)
    ask "${file:-$usual_main}"
    for engine in containerd crio podman docker; do handlers "$engine"; done >"$work/handlers"
    while read -r handler file program; do
        case $program in
            "$prefix"/*) refuse "$file still names $program for $handler; take its handlers out by hand first" ;;
        esac
    done <"$work/handlers"
}

remove_files() { # removes the files that are listed as ours
    cp "$root$list" "$work/listed"
    while read -r mark file; do
        case $mark in made | main | rendered | crio) continue ;; esac
        if is_as_we_left_it "$file"; then
            rm -f "$root$file"
            say "removed $file"
        elif [ -e "$root$file" ]; then
            say "left $file, which was changed since"
        fi
        forget "$mark" "$file"
    done <"$work/listed"
}

remove_programs() {
    noted made | sort -r | while read -r directory; do
        rmdir "$root$directory" 2>/dev/null || true # fails if somebody else uses it by now
    done
    rm -f "$root$prefix/bin/anchorhold" # first, as its absence says that all else was removed
    rm -rf "$root${staged:?}" "$root${prefix:?}/bin" "$root${prefix:?}/libexec"
    rm -f "$root$unread" "$root$list.new" "$root$list" # last, so that after a crash this goes on
    rmdir "$root$prefix"
    say "uninstalled"
}

do_uninstall() {
    remove_staged
    [ -f "$root$list" ] || { say "not installed" && return; }
    # An installation, or the end of this, was cut off where no engine is told of us.
    if [ ! -e "$root$prefix/bin/anchorhold" ] && ! grep -Evq '^(made|main|rendered|crio)  ' "$root$list"; then
        remove_programs
        return
    fi
    live=$(live_runs)
    [ -z "$live" ] || refuse "runs are live and need us; nothing was removed:" "
$live"
    untell
    check_nobody_names_us
    remove_files
    restart_engines
    live=$(live_runs) # again, as a run may have been created meanwhile
    [ -z "$live" ] || refuse "runs are live and need the programs in $prefix, which stay until you run this again:" "
$live"
    remove_programs
}

# ---- command line --------------------------------------------------------------------------------------

while [ $# -gt 0 ]; do
    case $1 in
        --root | --from | --prefix | --policy | --profiles | --config) [ -n "${2:-}" ] || refuse "$1 needs a value" ;;
    esac
    case $1 in
        --root) root=${2%/} && shift ;;
        --from) from=$2 && shift ;;
        --policy) policy=$2 && shift ;;
        --profiles) profiles=$2 && shift ;;
        --prefix) prefix=$2 && shift ;;
        --config) config=$2 && shift ;;
        --restart) restart=yes ;;
        install | uninstall | verify | gc) verb=$1 ;;
        *) refuse "unknown argument \"$1\"; the head of this file lists what there is" ;;
    esac
    shift
done
[ -n "$verb" ] || refuse "say install, uninstall, verify or gc"
[ "$(id -u)" = 0 ] || refuse "this needs root"
[ -z "$policy" ] || [ -r "$policy" ] || refuse "$policy is missing"
for profile in $profiles; do
    case $profile in
        hook | relay | gate | *[!a-z0-9-]*) refuse "\"$profile\" is no name of a profile" ;;
    esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
set_places
"do_$verb"
