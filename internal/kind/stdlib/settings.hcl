# Settings of systemd's own services, and what happens to logs.
define "journald" {
  description = "Settings of the journal: NAME.conf in /etc/systemd/journald.conf.d, and systemd-journald restarted, which loses no message. Undone completely; entries that a limit has removed do not return."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .conf; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".conf")
      error_message = "name is letters, digits, _, . and -, without .conf."
    }
  }
  variable "settings" {
    type        = map(string)
    default     = {}
    description = "settings of journald.conf, such as { SystemMaxUse = \"1G\", Storage = \"persistent\" }"
    validation {
      condition     = length([for k, v in var.settings : k if !can(regex("^[A-Z][A-Za-z0-9]*=[^\\n]*$", "${k}=${v}"))]) == 0
      error_message = "settings are names such as SystemMaxUse with values of one line."
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
      condition     = var.ensure == "absent" || length(var.settings) > 0
      error_message = "A journald needs settings, such as { SystemMaxUse = \"1G\" }."
    }
  }

  locals {
    here = var.ensure == "present"
  }

  directory "dir" {
    path = "/etc/systemd/journald.conf.d"
  }
  file "conf" {
    path    = "/etc/systemd/journald.conf.d/${var.name}.conf"
    content = local.here ? "# managed by fettle\n[Journal]\n${join("\n", [for k, v in var.settings : "${k}=${v}"])}\n" : null
    ensure  = var.ensure
    notify  = [service.journald.restart]
  }
  service "journald" {
    name = "systemd-journald"
  }
}

define "ntp" {
  description = "The time from the network: servers of systemd-timesyncd in NAME.conf in /etc/systemd/timesyncd.conf.d, the service enabled and running. Undone completely, the package included; the clock stays unchanged."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .conf; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".conf")
      error_message = "name is letters, digits, _, . and -, without .conf."
    }
  }
  variable "servers" {
    type        = list(string)
    default     = []
    description = "names or addresses of time servers; default: Debian's servers"
    validation {
      condition     = length([for s in var.servers : s if !can(regex("^[A-Za-z0-9_.:-]+$", s))]) == 0
      error_message = "servers are names or addresses, one an entry of the list."
    }
  }
  variable "fallback" {
    type        = list(string)
    default     = []
    description = "servers that are used if no others are known"
    validation {
      condition     = length([for s in var.fallback : s if !can(regex("^[A-Za-z0-9_.:-]+$", s))]) == 0
      error_message = "fallback are names or addresses, one an entry of the list."
    }
  }
  variable "running" {
    type        = bool
    default     = true
    description = "running now, and restarted by a change; false changes neither, for a container, which uses the clock of its host"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package systemd-timesyncd; false if another state installs it"
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
      condition     = var.ensure == "absent" || length(var.servers) + length(var.fallback) > 0
      error_message = "An ntp needs servers or fallback."
    }
  }

  locals {
    here = var.ensure == "present"
    lines = concat(
      ["# managed by fettle", "[Time]"],
      length(var.servers) > 0 ? ["NTP=${join(" ", var.servers)}"] : [],
      length(var.fallback) > 0 ? ["FallbackNTP=${join(" ", var.fallback)}"] : [],
    )
  }

  package "systemd-timesyncd" {
    when = local.here && var.package
  }
  directory "dir" {
    path  = "/etc/systemd/timesyncd.conf.d"
    after = [package.systemd-timesyncd]
  }
  file "conf" {
    path    = "/etc/systemd/timesyncd.conf.d/${var.name}.conf"
    content = local.here ? "${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
    after   = [package.systemd-timesyncd]
  }
  service "timesyncd" {
    when    = var.running
    name    = "systemd-timesyncd"
    enabled = local.here ? true : null
    running = local.here ? true : null
    after   = [file.conf]
    listen  = { restart = [file.conf] }
  }
  service "later" {
    when    = local.here && !var.running
    name    = "systemd-timesyncd"
    enabled = true
    after   = [file.conf]
  }
}

define "logrotate" {
  description = "Rotation of logs: a file in /etc/logrotate.d, which logrotate -d must accept before it is in place. Undone completely, the package included; rotated logs stay."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "name is letters, digits, _ and -; logrotate skips files that end in .bak, .rpmsave and the like."
    }
  }
  variable "paths" {
    type        = list(string)
    default     = []
    description = "the logs, such as /var/log/shop/*.log"
    validation {
      condition     = length([for p in var.paths : p if !can(regex("^/[^\\s\"]+$", p))]) == 0
      error_message = "paths are absolute, without blanks and quotes."
    }
  }
  variable "options" {
    type        = list(string)
    default     = ["weekly", "rotate 4", "compress", "missingok", "notifempty"]
    description = "lines as in logrotate.conf; default: weekly, rotate 4, compress, missingok, notifempty"
    validation {
      condition     = length([for o in var.options : o if !can(regex("^[a-z][^\\n{}]*$", o))]) == 0
      error_message = "options are lines such as rotate 8, one an entry of the list. Scripts belong into postrotate."
    }
  }
  variable "postrotate" {
    type        = string
    default     = ""
    description = "lines of shell that run after a rotation"
    validation {
      condition     = !can(regex("(?m)^\\s*endscript\\s*$", var.postrotate))
      error_message = "endscript is added behind postrotate. Leave it out."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package logrotate; false if another state installs it"
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
      condition     = var.ensure == "absent" || length(var.paths) > 0
      error_message = "A logrotate needs paths, such as [\"/var/log/shop/*.log\"]."
    }
  }

  locals {
    here = var.ensure == "present"
    lines = concat(
      ["# managed by fettle", "${join(" ", [for p in var.paths : "\"${p}\""])} {"],
      [for o in var.options : "  ${o}"],
      trimspace(var.postrotate) != "" ? ["  postrotate", "    ${indent(4, trimspace(var.postrotate))}", "  endscript"] : [],
      ["}"],
    )
  }

  package "logrotate" {
    when = local.here && var.package
  }
  file "conf" {
    path     = "/etc/logrotate.d/${var.name}"
    content  = local.here ? "${join("\n", local.lines)}\n" : null
    validate = local.here ? "logrotate -d %s" : null
    ensure   = var.ensure
    after    = [package.logrotate]
  }
}
