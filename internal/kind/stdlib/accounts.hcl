# A key that may log in as a user.
define "authorized_key" {
  description = "A public key that may log in as a user: ~/.ssh with mode 0700 and one line of ~/.ssh/authorized_keys. Other lines are left alone. Taken back wholly."
  main        = "user"

  variable "user" {
    type        = string
    description = "name of the user; the label when left out"
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
    description = "home directory of the user; /root for root and /home/USER for others when left out"
  }
  variable "group" {
    type        = string
    default     = null
    description = "Unix group of ~/.ssh; one of the user's own name when left out"
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
