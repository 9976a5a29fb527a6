# Who may do what: sudo, sshd, the keys of other hosts, limits.
define "sudoers" {
  description = "Rules of sudo: a file in /etc/sudoers.d with mode 0440, which visudo must accept before it is in place. Undone completely, the package included."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "sudo skips files whose names hold a dot or end in ~, so name is letters, digits, _ and -."
    }
  }
  variable "rules" {
    type        = list(string)
    default     = []
    description = "lines as in sudoers, such as deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart shop"
    validation {
      condition     = length([for r in var.rules : r if trimspace(r) == "" || strcontains(r, "\n")]) == 0
      error_message = "Each of rules is one line and not empty."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package sudo; false if another state installs it"
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
      condition     = var.ensure == "absent" || length(var.rules) > 0
      error_message = "A sudoers needs rules, such as [\"deploy ALL=(root) NOPASSWD: /usr/bin/systemctl restart shop\"]."
    }
  }

  locals {
    here = var.ensure == "present"
  }

  package "sudo" {
    when = local.here && var.package
  }
  directory "dir" {
    when  = local.here
    path  = "/etc/sudoers.d"
    after = [package.sudo]
  }
  file "rules" {
    path     = "/etc/sudoers.d/${var.name}"
    content  = local.here ? "# managed by fettle\n${join("\n", var.rules)}\n" : null
    mode     = local.here ? "0440" : null
    validate = local.here ? "visudo -cf %s" : null
    ensure   = var.ensure
    after    = [package.sudo]
  }
}

define "sshd_config" {
  description = "Settings of sshd: NAME.conf in /etc/ssh/sshd_config.d, restored if sshd -t does not accept the configuration, and a reload of ssh. Debian's sshd_config reads these files first, and the first value counts. ssh must be running; the package openssh-server starts it. An error can lock you out, so a run that changes it is undone unless you confirm it. Undone completely, the package included, and ssh reloaded."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .conf, such as 10-hardening; the first file with a setting has precedence; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".conf")
      error_message = "name is letters, digits, _, . and -, without .conf."
    }
  }
  variable "settings" {
    type        = map(string)
    default     = {}
    description = "keywords of sshd_config and their values, such as { PermitRootLogin = \"no\" }"
    validation {
      condition     = length([for k, v in var.settings : k if !can(regex("^[A-Za-z][A-Za-z0-9]*$", k)) || lower(k) == "match" || trimspace(v) == "" || strcontains(v, "\n")]) == 0
      error_message = "settings are keywords such as PermitRootLogin with values of one line. A Match block belongs into content."
    }
  }
  variable "content" {
    type        = string
    default     = ""
    description = "additional lines below the settings, such as a Match block"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package openssh-server; false if another state installs it"
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
      condition     = var.ensure == "absent" || length(var.settings) > 0 || trimspace(var.content) != ""
      error_message = "An sshd_config needs settings or content."
    }
  }

  locals {
    here  = var.ensure == "present"
    lines = concat(["# managed by fettle"], [for k, v in var.settings : "${k} ${v}"], trimspace(var.content) != "" ? [chomp(var.content)] : [])
  }

  package "openssh-server" {
    when = local.here && var.package
  }
  directory "dir" {
    when  = local.here
    path  = "/etc/ssh/sshd_config.d"
    after = [package.openssh-server]
  }
  file "conf" {
    path     = "/etc/ssh/sshd_config.d/${var.name}.conf"
    content  = local.here ? "${join("\n", local.lines)}\n" : null
    validate = local.here ? "sshd -t" : null
    ensure   = var.ensure
    after    = [package.openssh-server]
    notify   = [service.ssh.reload]
  }
  service "ssh" {}
}

define "known_host" {
  description = "The key of another host, for all users of ssh: a line of /etc/ssh/ssh_known_hosts, one for each host and type of key. Undone completely, the package included."
  main        = "host"

  variable "host" {
    type        = string
    description = "name or address of the host, [NAME]:PORT for a port other than 22; default: the label"
    validation {
      condition     = can(regex("^([A-Za-z0-9_.:-]+|\\[[A-Za-z0-9_.:-]+\\]:[0-9]+)$", var.host))
      error_message = "host is a name or address, or [NAME]:PORT, without blanks, commas and wildcards."
    }
  }
  variable "key" {
    type        = string
    description = "the public key as in /etc/ssh/ssh_host_ed25519_key.pub: type and key without the comment"
    validation {
      condition     = can(regex("^(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]{40,}={0,3}( [^\n]*)?$", trimspace(var.key)))
      error_message = "key is one public key in OpenSSH's form, such as \"ssh-ed25519 AAAAC3…\". ssh-keyscan prints it behind the host's name."
    }
  }
  variable "aliases" {
    type        = list(string)
    default     = []
    description = "other names and addresses of the same host"
    validation {
      condition     = length([for a in var.aliases : a if !can(regex("^([A-Za-z0-9_.:-]+|\\[[A-Za-z0-9_.:-]+\\]:[0-9]+)$", a))]) == 0
      error_message = "aliases are names and addresses, or [NAME]:PORT, without blanks, commas and wildcards."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package openssh-client; false if another state installs it"
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
    words   = split(" ", trimspace(var.key))
    pattern = regexreplace(var.host, "([].[])", "\\$1")
  }

  package "openssh-client" {
    when = var.ensure == "present" && var.package
  }
  file_line "key" {
    path   = "/etc/ssh/ssh_known_hosts"
    match  = "^([^ #]*,)?${local.pattern}(,[^ ]*)? ${local.words[0]} "
    line   = var.ensure == "present" ? "${join(",", concat([var.host], var.aliases))} ${local.words[0]} ${local.words[1]}" : null
    create = true
    ensure = var.ensure
    after  = [package.openssh-client]
  }
}

define "limits" {
  description = "Limits of sessions: NAME.conf in /etc/security/limits.d, which pam_limits reads at each login. Existing sessions keep the old limits. For services use LimitNOFILE= and similar settings of units. Undone completely."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .conf; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "name is letters, digits, _ and -."
    }
  }
  variable "domain" {
    type        = string
    default     = null
    description = "scope: a user, @GROUP, or * for all users except root"
    validation {
      condition     = var.domain == null || can(regex("^(\\*|@?[A-Za-z0-9_][A-Za-z0-9_.-]*)$", var.domain))
      error_message = "domain is a user, @GROUP or *."
    }
  }
  variable "soft" {
    type        = map(string)
    default     = {}
    description = "limits that a user can raise up to the hard ones, such as { nofile = 4096 }"
    validation {
      condition     = length([for k, v in var.soft : k if !can(regex("^(core|data|fsize|memlock|nofile|rss|stack|cpu|nproc|as|maxlogins|maxsyslogins|priority|locks|sigpending|msgqueue|nice|rtprio) (-?[0-9]+|unlimited|infinity)$", "${k} ${v}"))]) == 0
      error_message = "soft has items of limits.conf, such as nofile or nproc, each with a number or unlimited."
    }
  }
  variable "hard" {
    type        = map(string)
    default     = {}
    description = "limits that only root can raise"
    validation {
      condition     = length([for k, v in var.hard : k if !can(regex("^(core|data|fsize|memlock|nofile|rss|stack|cpu|nproc|as|maxlogins|maxsyslogins|priority|locks|sigpending|msgqueue|nice|rtprio) (-?[0-9]+|unlimited|infinity)$", "${k} ${v}"))]) == 0
      error_message = "hard has items of limits.conf, such as nofile or nproc, each with a number or unlimited."
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
      condition     = var.ensure == "absent" || var.domain != null && length(var.soft) + length(var.hard) > 0
      error_message = "A limits needs domain, and soft or hard."
    }
  }

  locals {
    here = var.ensure == "present"
    lines = concat(
      [for k, v in var.soft : "${coalesce(var.domain, "-")} soft ${k} ${v}"],
      [for k, v in var.hard : "${coalesce(var.domain, "-")} hard ${k} ${v}"],
    )
  }

  file "limits" {
    path    = "/etc/security/limits.d/${var.name}.conf"
    content = local.here ? "# managed by fettle\n${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
  }
}

define "acl" {
  description = "Additional access to an existing file or directory: its access ACL, as set by setfacl. The group bits of the mode show the widest entry: give a file state of the same path that mode. Undone completely."
  main        = "path"

  variable "path" {
    type        = string
    description = "the path; default: the label"
    validation {
      condition     = can(regex("^/[^\\n]*[^/\\n]$", var.path))
      error_message = "path is an absolute path."
    }
  }
  variable "entries" {
    type        = list(string)
    description = "entries as in setfacl, such as u:deploy:rwx and g:adm:r; missing entries for the owner, the group and others follow the mode"
    validation {
      condition     = length(var.entries) > 0 && length([for e in var.entries : e if !can(regex("^(u|user|g|group|m|mask|o|other):[a-z0-9_.-]*:[rwx-]{0,3}$", e))]) == 0
      error_message = "Each of entries is u:NAME:rwx, g:NAME:rwx, m::rwx or o::rwx, with some of r, w and x."
    }
  }

  metadata "acl" {
    path = var.path
    acl  = join(",", var.entries)
  }
}
