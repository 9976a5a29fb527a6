# The kernel, and what the whole system goes by.
define "kernel_module" {
  description = "A module of the kernel: loaded now and at boot (NAME.conf in /etc/modules-load.d), its parameters in /etc/modprobe.d; or, with blocked, never loaded. Parameters apply from the next load. Undone partly: the files are removed and a module that fettle loaded is unloaded, which fails if it is in use; a blocked module is not loaded."
  main        = "name"

  variable "name" {
    type        = string
    description = "the module; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "name is a module such as br_netfilter, without .ko."
    }
  }
  variable "parameters" {
    type        = map(string)
    default     = {}
    description = "parameters of the module, such as { hashsize = 65536 }"
    validation {
      condition     = length([for k, v in var.parameters : k if !can(regex("^[A-Za-z0-9_]+=[^\\s]+$", "${k}=${v}"))]) == 0
      error_message = "parameters are names and values without blanks."
    }
  }
  variable "blocked" {
    type        = bool
    default     = false
    description = "prevent loading; a loaded module stays until the next boot"
    validation {
      condition     = !var.blocked || length(var.parameters) == 0
      error_message = "A blocked module has no parameters."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package kmod; false if another state installs it"
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
    here    = var.ensure == "present"
    load    = local.here && !var.blocked
    known   = replace(var.name, "-", "_")
    conf    = local.here && (var.blocked || length(var.parameters) > 0)
    options = "options ${var.name} ${join(" ", [for k, v in var.parameters : "${k}=${v}"])}"
    blocked = "blacklist ${var.name}\ninstall ${var.name} /bin/false"
  }

  package "kmod" {
    when = local.here && var.package
  }
  file "modprobe" {
    when    = local.conf || !local.here
    path    = "/etc/modprobe.d/${var.name}.conf"
    content = local.here ? "# managed by fettle\n${var.blocked ? local.blocked : local.options}\n" : null
    ensure  = var.ensure
    after   = [package.kmod]
  }
  file "load" {
    when    = !var.blocked
    path    = "/etc/modules-load.d/${var.name}.conf"
    content = local.here ? "# managed by fettle\n${var.name}\n" : null
    ensure  = var.ensure
  }
  exec "load" {
    when    = local.load
    name    = "modprobe-${var.name}"
    command = ["modprobe", var.name]
    creates = "/sys/module/${local.known}"
    undo    = ["modprobe", "-r", var.name]
    after   = [file.modprobe, package.kmod]
  }
}

define "locale" {
  description = "A locale: its line in /etc/locale.gen, made by locale-gen; with default, LANG in /etc/locale.conf, before Debian 13 in /etc/default/locale, which sessions read at login. Undone completely: the remaining lines of /etc/locale.gen are generated again, and the package is removed."
  main        = "name"

  variable "name" {
    type        = string
    description = "the locale as in /usr/share/i18n/SUPPORTED, such as nl_NL.UTF-8; default: the label"
    validation {
      condition     = can(regex("^[a-z]{2,3}(_[A-Z]{2})?(\\.[A-Za-z0-9-]+)?(@[a-z]+)?$", var.name))
      error_message = "name is a locale such as nl_NL.UTF-8 or de_DE@euro. C.UTF-8 is always there."
    }
  }
  variable "charset" {
    type        = string
    default     = null
    description = "the second word of the line in /usr/share/i18n/SUPPORTED; default: the part of name after the dot, or ISO-8859-1"
    validation {
      condition     = var.charset == null || can(regex("^[A-Za-z0-9-]+$", var.charset))
      error_message = "charset is one word, such as UTF-8 or ISO-8859-15."
    }
  }
  variable "default" {
    type        = bool
    default     = false
    description = "the language of the system, for one locale only"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package locales; false if another state installs it"
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
      condition     = var.ensure == "present" || !var.default
      error_message = "The default locale cannot be absent. Leave default out."
    }
  }

  fact "os_id" {
    type    = string
    default = "debian"
  }
  fact "os_major" {
    type    = number
    default = 13
  }

  locals {
    here    = var.ensure == "present"
    charset = var.charset != null ? var.charset : try(regex("\\.([A-Za-z0-9-]+)", var.name)[0], "ISO-8859-1")
    # From Debian 13 on /etc/default/locale is a link to /etc/locale.conf, made again at each
    # boot. Debian testing and unstable have no number.
    before_13 = fact.os_id == "ubuntu" || try(fact.os_major < 13, false)
  }

  package "locales" {
    when = local.here && var.package
  }
  file_line "line" {
    path   = "/etc/locale.gen"
    match  = "^#?\\s*${replace(var.name, ".", "[.]")}\\s"
    line   = local.here ? "${var.name} ${local.charset}" : null
    ensure = var.ensure
    after  = [package.locales]
    notify = [exec.generate.run]
  }
  # When the state is undone, the package is removed before this command runs. Then
  # /etc/locale.gen has no locale left to generate, and the command is not needed.
  exec "generate" {
    name    = "locale-gen"
    command = ["sh", "-c", "command -v locale-gen >/dev/null || grep -qs '^[[:space:]]*[^#[:space:]]' /etc/locale.gen || exit 0; exec locale-gen"]
    lazy    = true
    timeout = "30m"
  }
  file_line "lang" {
    when   = local.here && var.default
    path   = local.before_13 ? "/etc/default/locale" : "/etc/locale.conf"
    key    = "LANG"
    value  = var.name
    create = true
    after  = [file_line.line, exec.generate]
  }
}

define "alternative" {
  description = "The program of a name in /etc/alternatives, selected as with update-alternatives --set. With ensure = \"absent\" the choice is automatic again. Undone partly: previous, or the automatic choice, is selected; an earlier choice is not restored."
  main        = "name"

  variable "name" {
    type        = string
    description = "the name, such as editor or www-browser; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9][A-Za-z0-9_.+-]*$", var.name))
      error_message = "name is a name that update-alternatives --get-selections lists."
    }
  }
  variable "path" {
    type        = string
    default     = null
    description = "the program, from the output of update-alternatives --list NAME"
    validation {
      condition     = var.path == null || can(regex("^/[^\\n]+$", var.path))
      error_message = "path is the absolute path of a program."
    }
  }
  variable "previous" {
    type        = string
    default     = null
    description = "program that an undo selects; default: the automatic choice"
    validation {
      condition     = var.previous == null || can(regex("^/[^\\n]+$", var.previous))
      error_message = "previous is the absolute path of a program."
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
      condition     = var.ensure == "absent" || var.path != null
      error_message = "An alternative needs path."
    }
  }

  locals {
    here = var.ensure == "present"
    auto = ["update-alternatives", "--auto", var.name]
    is   = local.here ? "Status: manual\nValue: ${coalesce(var.path, "-")}" : "Status: auto"
  }

  exec "choose" {
    name    = "alternative-${var.name}"
    command = local.here ? ["update-alternatives", "--set", var.name, coalesce(var.path, "-")] : local.auto
    unless  = ["sh", "-c", "found=$(update-alternatives --query \"$1\") && printf '%s\\n' \"$found\" | grep -qx \"Status: $2\" && { test -z \"$3\" || printf '%s\\n' \"$found\" | grep -qxF \"Value: $3\"; }", "query", var.name, local.here ? "manual" : "auto", local.here ? coalesce(var.path, "-") : ""]
    undo    = var.previous != null ? ["update-alternatives", "--set", var.name, coalesce(var.previous, "-")] : (local.here ? local.auto : null)
  }
}

define "capability" {
  description = "File capabilities of a program that fettle does not write, such as a program of a package. They are set again after an upgrade has replaced it. Write after = [package.NAME]. Undone partly: the program then has no capabilities, also if it had others before."
  main        = "path"

  variable "path" {
    type        = string
    description = "the program; default: the label"
    validation {
      condition     = can(regex("^/[^\\n]+$", var.path))
      error_message = "path is the absolute path of a program."
    }
  }
  variable "capabilities" {
    type        = string
    description = "the capabilities in the syntax of setcap, such as cap_net_bind_service=ep"
    validation {
      condition     = can(regex("^cap_[a-z_]+(,cap_[a-z_]+)*[+=][eip]+( cap_[a-z_]+(,cap_[a-z_]+)*[+=][eip]+)*$", var.capabilities))
      error_message = "capabilities are names, = and some of e, i and p, such as cap_net_bind_service=ep."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package libcap2-bin; false if another state installs it"
  }

  package "libcap2-bin" {
    when = var.package
  }
  exec "set" {
    name    = "capability-${var.path}"
    command = ["setcap", "-q", var.capabilities, var.path]
    unless  = ["setcap", "-q", "-v", var.capabilities, var.path]
    undo    = ["setcap", "-q", "-r", var.path]
    after   = [package.libcap2-bin]
  }
}

define "tmpfiles" {
  description = "Files and directories that systemd-tmpfiles creates at boot and cleans up: NAME.conf in /etc/tmpfiles.d, and systemd-tmpfiles --create for it at once. For a complete undo use file, directory and link. Undone partly: NAME.conf is removed, its files stay."
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
    description = "lines as in tmpfiles.d, such as d /run/shop 0750 shop shop -"
    validation {
      condition     = length([for l in var.lines : l if !can(regex("^[a-zA-Z][-+!=~^]*\\s+/[^\\n]*$", l))]) == 0
      error_message = "Each of lines is a type, such as d or f, and an absolute path, and then mode, user, group, age and argument."
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
      error_message = "A tmpfiles needs lines, such as [\"d /run/shop 0750 root root -\"]."
    }
  }

  locals {
    here = var.ensure == "present"
    path = "/etc/tmpfiles.d/${var.name}.conf"
  }

  file "conf" {
    path    = local.path
    content = local.here ? "# managed by fettle\n${join("\n", var.lines)}\n" : null
    ensure  = var.ensure
    notify  = [exec.create.run]
  }
  # After a rollback it runs once more, and then the file may be gone.
  exec "create" {
    name    = "tmpfiles-${var.name}"
    command = ["sh", "-c", "test ! -e \"$1\" || exec systemd-tmpfiles --create \"$1\"", "tmpfiles", local.path]
    lazy    = true
  }
}

define "reboot" {
  description = "A restart of the machine when Debian's packages ask for one (/run/reboot-required, as of unattended-upgrades and the kernel): scheduled once, after all other steps, with a warning to logged-in users. If the fleet has a lock for reboots, the agent schedules it when it has a slot. Until then only the plan shows it. Undone completely until it happens: the restart is cancelled."
  main        = "name"

  variable "name" {
    type        = string
    description = "a name for readers; default: the label"
  }
  variable "delay" {
    type        = number
    default     = 5
    description = "minutes until then"
    validation {
      condition     = var.delay >= 1 && var.delay <= 1440 && floor(var.delay) == var.delay
      error_message = "delay is a whole number of minutes from 1 to 1440."
    }
  }
  variable "flag" {
    type        = string
    default     = "/run/reboot-required"
    description = "the file that asks for it"
    validation {
      condition     = startswith(var.flag, "/run/")
      error_message = "flag is a file below /run, which a restart takes away; otherwise the machine would restart for ever."
    }
  }

  locals {
    request = replace(var.name, "/", "_")
  }

  exec "schedule" {
    name    = "reboot-${var.name}"
    command = ["sh", "-c", "test -d /run/fettle/reboots || exec shutdown -r \"+$1\"; cd /run/fettle/reboots && echo \"$1\" >\".$2\" && mv \".$2\" \"state-$2\"", "reboot", tostring(var.delay), local.request]
    creates = "/run/systemd/shutdown/scheduled"
    only_if = ["sh", "-c", "test -e \"$1\" && ! test -e \"/run/fettle/reboots/state-$2\"", "reboot", var.flag, local.request]
    undo    = ["sh", "-c", "rm -f \"/run/fettle/reboots/state-$1\"; exec shutdown -c", "reboot", local.request]
  }
}
