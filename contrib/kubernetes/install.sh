#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs anchorhold on a node and tells containerd or CRI-O of it, or undoes both.
#
#     install.sh [OPTION...] install
#     install.sh [OPTION...] uninstall
#
#     --root DIR         the node's root directory; default /
#     --from DIR         what `meson install` made, with bin and libexec in it; default: beside this file
#     --policy FILE      install FILE as the node's /etc/anchorhold/policy.json
#     --profiles 'A B'   profiles with a handler anchorhold-PROFILE of their own; default 'agent ci'
#     --add-imports      add the one line to containerd's config.toml that imports our file
#     --restart          restart the engine when its configuration was changed
#
# install checks everything before it changes anything, so a refusal changes nothing. It writes a
# file only where there is none, or where the file is its own and unchanged. /opt/anchorhold/installed
# lists its files with their digests. Files of others stay as they are, except for the line of
# --add-imports, which uninstall removes again. Where a file of its own is not enough, it prints the
# lines to add by hand.
#
# uninstall refuses while `anchorhold runs` lists a live run, because the run still needs the programs
# for its delete and its poststop hook. Remove the RuntimeClasses first, so that no new runs come.
set -eu
LC_ALL=C
export LC_ALL
umask 022 # anchorhold refuses files that others than root could write to

prefix=/opt/anchorhold
list=$prefix/installed # "DIGEST  FILE" as sha256sum has it, and "made  DIRECTORY"
staged=$prefix/staged
unread=$prefix/unread  # engines to restart: their configuration was changed
policy_file=/etc/anchorhold/policy.json
main=/etc/containerd/config.toml
drop_in=/etc/containerd/conf.d/anchorhold.toml
crio_drop_in=/etc/crio/crio.conf.d/anchorhold.conf
binaries='libexec/anchorhold/anchorhold-hook libexec/anchorhold/anchorhold-relay bin/anchorhold'
imports_line="imports = [\"$drop_in\"] # anchorhold's install.sh, which also takes it out"

root='' from=$(dirname "$0") policy='' profiles='agent ci' add_imports='' restart='' verb=''

refuse() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

say() { printf '%s\n' "$*"; }

node() { chroot "${root:-/}" "$@"; } # runs a program of the node

# ---- what anchorhold says of the engines ---------------------------------------------------------

ask() { # PROGRAM [OPTION...]: keeps what it reads in the engines' configuration for asked
    # The exit status is about what the host can do.
    node "$@" doctor --json >"$work/doctor" 2>"$work/why" || true
    grep -q '^  "engines": ' "$work/doctor" ||
        refuse "anchorhold doctor gives no answer: $(head -n 1 "$work/why")"
}

# asked ENGINE WORD: prints what doctor said, a line each.
#   runtime     NAME FILE PROGRAM of each runtime that the engine knows, and the file that names it
#   cri_file    each file of containerd's with a section for CRI
#   unreadable  what is wrong with a file that cannot be read
asked() {
    awk -v engine="$1" -v word="$2" '
        function value(line) { gsub(/^[^:]*: "|^ *"|",?$/, "", line); return line }
        /^      "name": / { on = value($0) == engine }
        !on { next }
        /^      "/ { list = $1 }
        list == "\"cri_files\":" && /^        "/ && word == "cri_file" { print value($0) }
        list == "\"findings\":" && word == "unreadable" {
            if (/^          "name": /) wanted = value($0) == "config_unreadable"
            if (/^          "says": / && wanted) print value($0)
        }
        list != "\"runtimes\":" || word != "runtime" { next }
        /^          "name": / { name = value($0) }
        /^          "file": / { file = value($0) }
        /^            "/ { program = program == "" ? value($0) : program }
        /^        }/ { print name, file, program; program = "" }' "$work/doctor"
}

# ---- our own files -------------------------------------------------------------------------------

digest() { sha256sum "$1" | cut -d' ' -f1; }

is_as_we_left_it() { # FILE
    [ -f "$root$1" ] && [ ! -h "$root$1" ] &&
        grep -qxF "$(digest "$root$1")  $1" "$root$list" 2>/dev/null
}

forget() { # FILE
    { grep -v "  $1\$" "$root$list" || true; } >"$work/list"
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
    mkdir "$root$1"
    printf 'made  %s\n' "$1" >>"$root$list"
}

# put FILE CONTENT [ENGINE]: replaces FILE whole or not at all, lists it as ours, and notes that ENGINE
# has to read it.
put() {
    if cmp -s "$2" "$root$1"; then return; fi
    make_directory "$(dirname "$1")"
    cp "$2" "$root$1.anchorhold-new"
    chmod 644 "$root$1.anchorhold-new"
    printf '%s  %s\n' "$(digest "$2")" "$1" >>"$root$list" # first, so that after a crash it is known as ours
    [ $# -lt 3 ] || say "$3" >>"$root$unread"
    mv -f "$root$1.anchorhold-new" "$root$1"
    say "wrote $1"
}

# replace_main: replaces config.toml by standard input, and keeps its owner and mode.
replace_main() {
    cp -p "$root$main" "$root$main.anchorhold-new"
    cat >"$root$main.anchorhold-new"
    mv -f "$root$main.anchorhold-new" "$root$main"
    say containerd >>"$root$unread"
}

# ---- what the engines are told ------------------------------------------------------------------

names() { # prints the names of the handlers
    echo anchorhold
    for profile in $profiles; do echo "anchorhold-$profile"; done
}

# The profile is chosen by the name of a link, since containerd passes no arguments to a runtime.
containerd_handlers() { # PLUGIN
    for name in $(names); do
        cat <<TOML

[plugins."$1".containerd.runtimes.$name]
  runtime_type = "io.containerd.runc.v2"
  pod_annotations = ["dev.anchorhold.*"]
  container_annotations = ["dev.anchorhold.*"]
  [plugins."$1".containerd.runtimes.$name.options]
    BinaryName = "$prefix/bin/$name"
TOML
        [ -z "$systemd_cgroup" ] || echo '    SystemdCgroup = true'
    done
}

plugin_of() { # VERSION
    if [ "$1" = 2 ]; then echo io.containerd.grpc.v1.cri; else echo io.containerd.cri.v1.runtime; fi
}

# containerd 1.x has no handler runc any more once its configuration names any handler.
runc_handler() {
    cat <<'TOML'

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
TOML
}

containerd_drop_in() { # VERSION MAJOR
    echo "# Written by anchorhold's install.sh, which writes it anew; changes keep it from doing so."
    echo "version = $1"
    [ "$2" != 1 ] || runc_handler
    containerd_handlers "$(plugin_of "$1")"
}

crio_handlers() {
    echo "# Written by anchorhold's install.sh, which writes it anew; changes keep it from doing so."
    for name in $(names); do
        cat <<TOML

[crio.runtime.runtimes.$name]
runtime_path = "$prefix/bin/$name"
runtime_type = "oci"
TOML
    done
}

# ---- containerd ---------------------------------------------------------------------------------

# The keys read here and in has_imports stand before the first table of the file.
config_version() {
    sed -n -e '/^[[:space:]]*\[/q' \
        -e 's/^[[:space:]]*version[[:space:]]*=[[:space:]]*\([0-9][0-9]*\).*/\1/p' "$root$main"
}

has_imports() {
    sed -n -e '/^[[:space:]]*\[/q' -e '/^[[:space:]]*imports[[:space:]]*=/p' "$root$main" | grep -q .
}

# Prints what config.toml imports, absolute paths, one a line; not a relative pattern of 1.x, which
# looks for it where it was started.
imports() {
    awk -v major="$major" '!on && /^[ \t]*\[/ { exit }
        /^[ \t]*imports[ \t]*=/ { on = 1 }
        on { sub(/#.*/, ""); text = text $0 }
        on && /\]/ { exit }
        END {
            while (match(text, /["\047][^"\047]*["\047]/)) {
                path = substr(text, RSTART + 1, RLENGTH - 2)
                if (path ~ /^\//)
                    print path
                else if (major != 1 || path !~ /\*/)
                    print "/etc/containerd/" path
                text = substr(text, RSTART + RLENGTH)
            }
        }' "$root$main"
}

# Prints containerd's major version. Where containerd does not say, it is the stricter one (1) unless
# its configuration has a version that only 2 reads.
containerd_major() { # VERSION of the configuration, if there is one
    said=$(node containerd --version 2>/dev/null) || said=''
    case $said in
        *' v2.'* | *' 2.'*) echo 2 ;;
        *' v1.'* | *' 1.'*) echo 1 ;;
        *) case $1 in 3 | 4) echo 2 ;; *) echo 1 ;; esac ;;
    esac
}

# Prints where among the imports a file of ours can stand; nothing if nowhere.
imported_place() {
    imports | while read -r pattern; do
        case $pattern in
            "$drop_in") say "$drop_in" ;;
            *'*'*/*) ;;
            */'*.toml') say "${pattern%/*}/anchorhold.toml" ;;
        esac
    done | head -n 1
}

by_hand() { # WHY FILE
    refuse "$1; add to $2 by hand, and run this again:" "
$(has_handler runc || runc_handler; containerd_handlers io.containerd.grpc.v1.cri)"
}

has_handler() { asked containerd runtime | grep -q "^$1 "; } # NAME

# Has somebody added all our handlers by hand? Then no drop-in is needed.
has_all_handlers() {
    asked containerd runtime >"$work/runtimes"
    for name in $(names); do
        while read -r handler file program; do
            if [ "$handler $program" = "$name $prefix/bin/$name" ] && ! is_as_we_left_it "$file"; then
                continue 2
            fi
        done <"$work/runtimes"
        return 1
    done
}

plan_containerd() {
    version='' systemd_cgroup='' new_main='' line_needed='' skip_drop_in=''
    if [ -e "$root$main" ] || [ -h "$root$main" ]; then
        [ -f "$root$main" ] || refuse "$main is no file"
        version=$(config_version)
        case ${version:-1} in
            [234]) ;;
            *) refuse "$main has version ${version:-1}, which cannot be added to; see containerd config migrate" ;;
        esac
        why=$(asked containerd unreadable)
        [ -z "$why" ] || refuse "$why"
        if grep -q '^[[:space:]]*SystemdCgroup[[:space:]]*=[[:space:]]*true' "$root$main"; then
            systemd_cgroup=yes
        fi
    fi
    major=$(containerd_major "$version")
    if [ -z "$version" ] || is_as_we_left_it "$main"; then
        new_main=yes
        [ -n "$version" ] || version=$((major + 1))
    elif has_all_handlers; then
        skip_drop_in=yes
    else
        plan_import
    fi
    [ "$version" != 4 ] || version=3 # a drop-in may have an older version than the file that imports it
    containerd_drop_in "$version" "$major" >"$work/drop-in"
    [ -n "$skip_drop_in" ] || may_write "$drop_in" "$work/drop-in"
    [ -z "$new_main" ] || printf 'version = %s\n%s\n' "$version" "$imports_line" >"$work/main"
}

plan_import() {
    if [ "$major" = 1 ]; then
        other='' # the last of those that are not ours: what is added there is not replaced
        for file in $(asked containerd cri_file); do
            is_as_we_left_it "$file" || other=$file
        done
        [ -z "$other" ] || by_hand "containerd 1.x lets an imported section replace a whole one \
(containerd issue 5837), and $other has one for CRI" "$other"
    fi
    if has_imports; then
        drop_in=$(imported_place)
        [ -n "$drop_in" ] || refuse "$main imports no directory; add \"/etc/containerd/conf.d/*.toml\" to" \
            "its imports, and run this again"
        return
    fi
    [ -n "$add_imports" ] || refuse "$main imports nothing; run this with --add-imports, or put at its" \
        "beginning: ${imports_line%% #*}"
    [ ! -h "$root$main" ] || refuse "$main is a link; put at the beginning of what it leads to:" \
        "${imports_line%% #*}"
    line_needed=yes
}

apply_containerd() {
    [ -n "$skip_drop_in" ] || put "$drop_in" "$work/drop-in" containerd
    [ -z "$new_main" ] || put "$main" "$work/main" containerd
    if [ -n "$line_needed" ]; then
        { say "$imports_line" && cat "$root$main"; } | replace_main
        say "added to $main: $imports_line"
    fi
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
    if [ -e "$root$main" ] || has_program containerd; then engines=containerd; fi
    if [ -d "$root/etc/crio" ] || has_program crio; then engines="$engines crio"; fi
    [ -n "$engines" ] || refuse "neither containerd nor CRI-O is on this node (for k3s and others that" \
        "bring their own, see contrib/kubernetes/README.md)"
}

# Refuses links on the node, because seen from outside of its root they lead somewhere else.
check_links() {
    if [ -z "$root" ]; then return; fi
    for place in /opt /etc /etc/anchorhold /etc/containerd /etc/containerd/conf.d "$main" /etc/crio \
        /etc/crio/crio.conf.d; do
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
    [ -z "$policy" ] || cp "$policy" "$root$staged/policy.json"
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
    node "$staged/$binary" "$@"
}

remove_staged() {
    rm -rf "$root$staged"
    rmdir "$root$prefix" 2>/dev/null || true # if this would have been the first installation
}

put_binaries() {
    mkdir -p "$root$prefix/bin" "$root$prefix/libexec/anchorhold"
    : >>"$root$list"
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

# Restarts the engines in $unread, also those whose restart failed in an earlier call.
restart_engines() {
    if [ ! -s "$root$unread" ]; then return; fi
    for engine in containerd crio; do
        if ! grep -qx "$engine" "$root$unread"; then
            continue
        elif [ -n "$restart" ]; then
            node systemctl try-restart "$engine"
            say "restarted $engine"
        else
            say "restart $engine: it reads its configuration when it starts"
        fi
    done
    rm -f "$root$unread"
}

do_install() {
    check_links
    find_engines
    check_prefix
    [ -z "$policy" ] || may_write "$policy_file" "$policy"
    stage
    ask "$staged/bin/anchorhold" --ah-state "$staged/state"
    case $engines in *containerd*) plan_containerd ;; esac
    crio_handlers >"$work/crio"
    case $engines in *crio*) may_write "$crio_drop_in" "$work/crio" ;; esac
    put_binaries
    [ -z "$policy" ] || put "$policy_file" "$policy"
    case $engines in *containerd*) apply_containerd ;; esac
    case $engines in *crio*) put "$crio_drop_in" "$work/crio" crio ;; esac
    restart_engines
    say "installed"
}

# ---- uninstall ----------------------------------------------------------------------------------

live_runs() {
    node "$prefix/bin/anchorhold" gc >/dev/null 2>&1 || true # so that dead runs are not counted
    runs=$(node "$prefix/bin/anchorhold" runs --json) || refuse "anchorhold runs gives no answer; nothing was removed"
    [ "$runs" = '[]' ] || node "$prefix/bin/anchorhold" runs
    # A run with egress open may have no record. containerd's shim has noted which program it calls.
    grep -ls "\"binary_name\":\"$prefix/bin/anchorhold" \
        "$root"/run/containerd/io.containerd.runtime.v2.task/*/*/options.json || true
}

# Refuses while a configuration that we cannot change still names our programs.
check_nobody_names_us() {
    while read -r mark file; do
        [ "$mark" = made ] || [ "$file" = "$policy_file" ] || [ ! -e "$root$file" ] || is_as_we_left_it "$file" ||
            refuse "$file was changed since; take it away by hand first"
    done <"$root$list"
    ask "$prefix/bin/anchorhold"
    for engine in containerd crio podman docker; do
        asked "$engine" runtime
    done >"$work/runtimes"
    while read -r handler file program; do
        case $program in
            "$prefix"/*) is_as_we_left_it "$file" || refuse "$file still names $program for $handler;" \
                "take its handlers out by hand first" ;;
        esac
    done <"$work/runtimes"
}

remove_line() {
    if [ ! -f "$root$main" ] || is_as_we_left_it "$main" || ! grep -qxF "$imports_line" "$root$main"; then
        return
    fi
    if [ "$(head -n 1 "$root$main")" = "$imports_line" ]; then
        tail -n +2 "$root$main" >"$work/main" # exact, even if the file has no newline at its end
    else
        { grep -vxF "$imports_line" "$root$main" || true; } >"$work/main"
    fi
    replace_main <"$work/main"
    say "took the line out of $main"
}

remove_files() { # removes the files that are listed as ours
    cp "$root$list" "$work/listed"
    while read -r mark file; do
        if [ "$mark" = made ]; then
            continue
        elif is_as_we_left_it "$file"; then
            case $file in
                "$policy_file") ;;
                "$crio_drop_in") say crio >>"$root$unread" ;;
                *) say containerd >>"$root$unread" ;;
            esac
            rm -f "$root$file"
            say "removed $file"
        elif [ -e "$root$file" ]; then
            say "left $file, which was changed since"
        fi
        forget "$file"
    done <"$work/listed"
}

do_uninstall() {
    [ -f "$root$list" ] || { remove_staged && say "not installed" && return; }
    live=$(live_runs)
    [ -z "$live" ] || refuse "runs are live and need us; nothing was removed:" "
$live"
    check_nobody_names_us
    remove_line
    remove_files
    restart_engines
    grep '^made ' "$root$list" | sort -r | while read -r _ directory; do
        rmdir "$root$directory" 2>/dev/null || true # fails if somebody else uses it by now
    done
    live=$(live_runs) # again, as a run may have been created meanwhile
    [ -z "$live" ] || refuse "runs are live and need the programs in $prefix, which stay until you run this again:" "
$live"
    rm -rf "${root:?}$prefix"
    say "uninstalled"
}

# ---- command line --------------------------------------------------------------------------------------

while [ $# -gt 0 ]; do
    case $1 in
        --root | --from | --policy | --profiles) [ -n "${2:-}" ] || refuse "$1 needs a value" ;;
    esac
    case $1 in
        --root) root=${2%/} && shift ;;
        --from) from=$2 && shift ;;
        --policy) policy=$2 && shift ;;
        --profiles) profiles=$2 && shift ;;
        --add-imports) add_imports=yes ;;
        --restart) restart=yes ;;
        install | uninstall) verb=$1 ;;
        *) refuse "unknown argument \"$1\"; the head of this file lists what there is" ;;
    esac
    shift
done
[ -n "$verb" ] || refuse "say install or uninstall"
[ "$(id -u)" = 0 ] || refuse "this needs root"
[ -z "$policy" ] || [ -r "$policy" ] || refuse "$policy is missing"
for profile in $profiles; do
    case $profile in
        hook | relay | gate | *[!a-z0-9-]*) refuse "\"$profile\" is no name of a profile" ;;
    esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"do_$verb"
