# What is checked out of git on the host itself.
define "git_checkout" {
  description = "A git repository that is cloned and checked out at one commit or tag. Branches are refused, because they move. Modified files stay, and the run fails if the commit changes them. Undone partly: a clone that fettle created is removed unless it has modified files, and an existing clone returns to its commit; fetched objects stay."
  main        = "path"

  variable "path" {
    type        = string
    description = "the directory; its parent must exist; default: the label"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is the absolute path of a directory."
    }
  }
  variable "url" {
    type        = string
    description = "source address: https, ssh, file, or HOST:PATH"
    validation {
      condition     = can(regex("^((https?|ssh|git|file)://[^\\s]+|[A-Za-z0-9_][A-Za-z0-9_.@-]*:[^\\s]+)$", var.url))
      error_message = "url begins with https://, ssh://, file://, or a host and a colon."
    }
    validation {
      condition     = !can(regex("^https?://[^/]*:[^/]*@", var.url))
      error_message = "url holds a password, and would stand in lists and logs. Put it into /root/.netrc, where git finds it."
    }
  }
  variable "revision" {
    type        = string
    description = "the commit, 40 hexadecimal digits, or a tag"
    validation {
      condition     = can(regex("^[A-Za-z0-9_][A-Za-z0-9_./+-]*$", var.revision)) && !strcontains(var.revision, "..")
      error_message = "revision is a whole commit id or the name of a tag."
    }
    validation {
      condition     = !can(regex("^[0-9a-f]{7,39}$", var.revision))
      error_message = "revision looks like a part of a commit id. Write all 40 digits, as git rev-parse prints them."
    }
  }
  variable "owner" {
    type        = string
    default     = "root"
    description = "owner of all files"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.owner))
      error_message = "owner is the name of a user."
    }
  }
  variable "group" {
    type        = string
    default     = "root"
    description = "Unix group of all files"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.group))
      error_message = "group is the name of a group."
    }
  }
  variable "timeout" {
    type        = string
    default     = "30m"
    description = "time limit for cloning; default: 30m"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package git, ca-certificates for https and openssh-client for ssh; false if another state installs it"
  }

  locals {
    # A commit stands for itself, a tag for the commit that it names in the clone.
    commit = can(regex("^[0-9a-f]{40}([0-9a-f]{24})?$", var.revision)) ? var.revision : "refs/tags/${var.revision}"
    ssh    = startswith(var.url, "ssh:") || can(regex("^[^/:]+:", var.url)) && !can(regex("^[a-z+]+://", var.url))
  }

  package "needed" {
    for_each = toset(var.package ? concat(["git"], startswith(var.url, "https:") ? ["ca-certificates"] : [], local.ssh ? ["openssh-client"] : []) : [])
    name     = each.key
  }
  # refs/fettle/made marks a clone of ours, refs/fettle/before the commit of one
  # that was there: the way back needs to know.
  exec "checkout" {
    name = "git-${var.path}"
    command = ["sh", "-ec", <<-EOT
      at() { git -c safe.directory="$path" -c advice.detachedHead=false -C "$path" "$@"; }
      url=$1 path=$2 rev=$3 owner=$4
      if test -e "$2"; then
        at rev-parse -q --verify refs/fettle/made >/dev/null || at rev-parse -q --verify refs/fettle/before >/dev/null || at update-ref refs/fettle/before HEAD
        at fetch -q --tags -- "$url" '+refs/heads/*:refs/remotes/origin/*'
        at checkout -q --detach "$rev^{commit}"
      else
        path=$2.fettle-new
        rm -rf "$path"
        git clone -q --no-checkout -- "$url" "$path"
        at checkout -q --detach "$rev^{commit}"
        at update-ref refs/fettle/made HEAD
      fi
      chown -hR "$owner" "$path"
      test "$path" = "$2" || mv -T "$path" "$2"
      EOT
    , "git", var.url, var.path, local.commit, "${var.owner}:${var.group}"]
    unless  = ["sh", "-c", "test \"$(git -c safe.directory=\"$1\" -C \"$1\" rev-parse HEAD)\" = \"$(git -c safe.directory=\"$1\" -C \"$1\" rev-parse -q --verify \"$2^{commit}\")\" && test \"$(stat -c %U:%G \"$1\")\" = \"$3\"", "git", var.path, local.commit, "${var.owner}:${var.group}"]
    undo = ["sh", "-ec", <<-EOT
      at() { git -c safe.directory="$path" -c advice.detachedHead=false -C "$path" "$@"; }
      path=$1
      test -e "$path" || exit 0
      if at rev-parse -q --verify refs/fettle/made >/dev/null; then
        left=$(at status --porcelain)
        if test -n "$left"; then echo "$path has changes that no commit holds, so it stays: $left" >&2; exit 1; fi
        rm -rf "$path"
      elif at rev-parse -q --verify refs/fettle/before >/dev/null; then
        at checkout -q --detach refs/fettle/before
        at update-ref -d refs/fettle/before
      fi
      EOT
    , "git", var.path]
    timeout = var.timeout
    after   = [package.needed]
  }
}
