define "apt_source" {
  description = "An apt repository: NAME.sources in /etc/apt/sources.list.d in deb822 form, its key in /etc/apt/keyrings, and apt-get update when one of them changed. Packages that are declared after it wait for it; packages that are declared before it need after = [apt_source.NAME]. Undone completely: apt-get update runs again; installed packages stay."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the files; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name))
      error_message = "apt skips files whose names hold anything but letters, digits, _, . and -."
    }
  }
  variable "uris" {
    type        = list(string)
    default     = []
    description = "addresses of the repository"
    validation {
      condition     = length([for u in var.uris : u if !can(regex("^(https?|file|ftp|cdrom|copy|mirror[a-z+]*|tor[a-z+]*|ssh|rsh):[^\\s]+$", u))]) == 0
      error_message = "uris are addresses such as https://deb.example.org/debian, without blanks."
    }
  }
  variable "suites" {
    type        = list(string)
    default     = []
    description = "suites, such as bookworm; a suite that ends in / is a path and has no components"
  }
  variable "components" {
    type        = list(string)
    default     = []
    description = "components, such as main"
  }
  variable "types" {
    type        = list(string)
    default     = ["deb"]
    description = "deb, deb-src or both"
    validation {
      condition     = length(setsubtract(toset(var.types), toset(["deb", "deb-src"]))) == 0 && length(var.types) > 0
      error_message = "types are deb and deb-src."
    }
  }
  variable "architectures" {
    type        = list(string)
    default     = []
    description = "architectures, such as amd64; default: architectures of the host"
  }
  variable "key" {
    type        = string
    default     = null
    description = "the repository's public key, ASCII-armored; file(\"keys/example.asc\") reads it from the module"
    validation {
      condition     = var.key == null || startswith(trimspace(coalesce(var.key, "-")), "-----BEGIN PGP PUBLIC KEY BLOCK-----")
      error_message = "key is an ASCII-armored public key: it begins with -----BEGIN PGP PUBLIC KEY BLOCK-----. Make one with gpg --export --armor."
    }
  }
  variable "signed_by" {
    type        = string
    default     = null
    description = "instead of key: a key file on the host, such as /usr/share/keyrings/debian-archive-keyring.gpg"
    validation {
      condition     = var.signed_by == null || var.key == null
      error_message = "Give key or signed_by, but not both."
    }
  }
  variable "trusted" {
    type        = bool
    default     = false
    description = "accept unsigned packages; only for repositories on the host itself"
  }
  variable "enabled" {
    type        = bool
    default     = true
    description = "false keeps the files and makes apt skip them"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package ca-certificates if an address begins with https; false if another state installs it"
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
      condition     = var.ensure == "absent" || length(var.uris) > 0 && length(var.suites) > 0
      error_message = "An apt_source needs uris and suites."
    }
    validation {
      condition     = var.ensure == "absent" || (length(var.components) == 0) == (length([for s in var.suites : s if !endswith(s, "/")]) == 0)
      error_message = "Give components, such as [\"main\"]. Only suites that end in / have none."
    }
  }

  locals {
    here    = var.ensure == "present"
    keyfile = "/etc/apt/keyrings/${var.name}.asc"
    signed  = var.key != null ? local.keyfile : var.signed_by
    lines = concat(
      ["# managed by fettle", "Types: ${join(" ", var.types)}", "URIs: ${join(" ", var.uris)}", "Suites: ${join(" ", var.suites)}"],
      length(var.components) > 0 ? ["Components: ${join(" ", var.components)}"] : [],
      length(var.architectures) > 0 ? ["Architectures: ${join(" ", var.architectures)}"] : [],
      local.signed != null ? ["Signed-By: ${local.signed}"] : [],
      var.trusted ? ["Trusted: yes"] : [],
      var.enabled ? [] : ["Enabled: no"],
    )
  }

  package "ca-certificates" {
    when = local.here && var.package && length([for u in var.uris : u if startswith(u, "https:")]) > 0
  }
  file "key" {
    when    = var.key != null
    path    = local.keyfile
    content = local.here ? var.key : null
    ensure  = var.ensure
    after   = [package.ca-certificates]
    notify  = [exec.update.run]
  }
  file "sources" {
    path    = "/etc/apt/sources.list.d/${var.name}.sources"
    content = local.here ? "${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
    after   = [package.ca-certificates]
    notify  = [exec.update.run]
  }
  exec "update" {
    name    = "apt-update"
    command = ["apt-get", "update", "-q", "-o", "APT::Update::Error-Mode=any"]
    lazy    = true
    timeout = "10m"
  }
}
