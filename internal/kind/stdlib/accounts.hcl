# A key that may log in as a user.
define "authorized_key" {
  description = "A public key that may log in as a user: ~/.ssh with mode 0700 and one line of ~/.ssh/authorized_keys. Other lines do not change. Undone completely."
  main        = "user"

  variable "user" {
    type        = string
    description = "name of the user; default: the label"
  }
  variable "key" {
    type        = string
    description = "the public key as in a .pub file: type, key and comment"
    validation {
      condition     = can(regex("^(ssh-(ed25519|rsa|dss)|ecdsa-sha2-nistp(256|384|521)|sk-(ssh-ed25519|ecdsa-sha2-nistp256)@openssh\\.com) [A-Za-z0-9+/]{40,}={0,3}( [^\n]*)?$", trimspace(var.key)))
      error_message = "key is one public key in OpenSSH's form, such as \"ssh-ed25519 AAAAC3… alice@laptop\". Options belong into options."
    }
  }
  variable "options" {
    type        = list(string)
    default     = []
    description = "options of the key, such as no-pty or from=\"10.0.0.0/8\""
  }
  variable "home" {
    type        = string
    default     = null
    description = "home directory of the user; default: the home directory of the user state of this name, otherwise /root or /home/USER"
  }
  variable "group" {
    type        = string
    default     = null
    description = "Unix group of ~/.ssh; default: the group of the user state of this name, otherwise the user's name"
  }
  variable "ensure" {
    type        = string
    default     = "present"
    description = "present or absent"
    validation {
      condition     = contains(["present", "absent"], var.ensure)
      error_message = "ensure is present or absent."
    }
  }

  locals {
    home = var.home != null ? var.home : (var.user == "root" ? "/root" : "/home/${var.user}")
    key  = trimspace(var.key)
    blob = split(" ", local.key)[1]
  }

  directory "ssh" {
    when  = var.ensure == "present"
    path  = "${local.home}/.ssh"
    owner = var.user
    group = var.group != null ? var.group : var.user
    mode  = "0700"
  }
  file_line "key" {
    path   = "${local.home}/.ssh/authorized_keys"
    match  = "^[^#]*${replace(local.blob, "+", "[+]")}"
    line   = length(var.options) > 0 ? "${join(",", var.options)} ${local.key}" : local.key
    create = true
    ensure = var.ensure
  }
}

define "sysusers" {
  description = "System users and groups that systemd-sysusers creates at boot and at once: NAME.conf in /etc/sysusers.d. For a complete undo use user and group. Undone partly: NAME.conf is removed, its accounts stay."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .conf; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".conf")
      error_message = "name is letters, digits, _, . and -, without .conf."
    }
  }
  variable "lines" {
    type        = list(string)
    default     = []
    description = "lines as in sysusers.d, such as u shop - \"The shop\" /var/lib/shop"
    validation {
      condition     = length([for l in var.lines : l if !can(regex("^([ug]!?|m|r)\\s+[^\\s]+[^\\n]*$", l))]) == 0
      error_message = "Each of lines is a type, u, g, m or r, and a name, and then id, comment, home and shell."
    }
  }
  variable "ensure" {
    type        = string
    default     = "present"
    description = "present or absent"
    validation {
      condition     = contains(["present", "absent"], var.ensure)
      error_message = "ensure is present or absent."
    }
    validation {
      condition     = var.ensure == "absent" || length(var.lines) > 0
      error_message = "A sysusers needs lines, such as [\"u shop - - /var/lib/shop\"]."
    }
  }

  locals {
    here = var.ensure == "present"
    path = "/etc/sysusers.d/${var.name}.conf"
  }

  directory "dir" {
    path = "/etc/sysusers.d"
  }
  file "conf" {
    path     = local.path
    content  = local.here ? "# managed by fettle\n${join("\n", var.lines)}\n" : null
    validate = local.here ? "systemd-sysusers --dry-run %s" : null
    ensure   = var.ensure
    notify   = [exec.create.run]
  }
  # After a rollback it runs once more, and then the file may be gone.
  exec "create" {
    name    = "sysusers-${var.name}"
    command = ["sh", "-c", "test ! -e \"$1\" || exec systemd-sysusers \"$1\"", "sysusers", local.path]
    lazy    = true
  }
}
