# What apt and dpkg go by.
define "apt_pin" {
  description = "The preferred versions of packages: a file in /etc/apt/preferences.d. Installed versions stay until an upgrade. Undone completely; installed versions stay."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "apt skips files whose names hold a dot, so name is letters, digits, _ and -."
    }
  }
  variable "packages" {
    type        = list(string)
    default     = ["*"]
    description = "the packages, with * and ?, or src:NAME; default: all"
    validation {
      condition     = length(var.packages) > 0 && length([for p in var.packages : p if !can(regex("^(src:)?[a-z0-9*?][a-z0-9.+*?:-]*$", p))]) == 0
      error_message = "packages are names of packages, such as linux-image-*."
    }
  }
  variable "pin" {
    type        = string
    default     = null
    description = "selected versions, as in apt_preferences: release n=bookworm-backports, version 1.22.*, origin deb.example.org"
    validation {
      condition     = var.pin == null || can(regex("^(release|version|origin) [^\\n]+$", var.pin))
      error_message = "pin begins with release, version or origin, such as release n=bookworm-backports."
    }
  }
  variable "priority" {
    type        = number
    default     = null
    description = "below 0 never, 100 to keep upgraded, 500 as usual, 990 before others, 1001 also downgrades"
    validation {
      condition     = var.priority == null || can(regex("^-?[0-9]{1,5}$", tostring(var.priority)))
      error_message = "priority is a whole number, such as 990 or -1."
    }
    validation {
      condition     = var.priority == null || tostring(coalesce(var.priority, 1)) != "0"
      error_message = "apt knows no priority 0. Use -1 for never, or 1 for the last of all."
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
      condition     = var.ensure == "absent" || var.pin != null && var.priority != null
      error_message = "An apt_pin needs pin and priority."
    }
  }

  locals {
    here  = var.ensure == "present"
    lines = ["# managed by fettle", "Package: ${join(" ", var.packages)}", "Pin: ${coalesce(var.pin, "-")}", "Pin-Priority: ${coalesce(var.priority, 1)}"]
  }

  file "pin" {
    path    = "/etc/apt/preferences.d/${var.name}"
    content = local.here ? "${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
  }
}

define "apt_key" {
  description = "A key that several apt sources share: NAME.asc in /etc/apt/keyrings, for signed_by of apt_source. For a key of a single source use its attribute key. Undone completely."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file without .asc; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) && !endswith(var.name, ".asc")
      error_message = "name is letters, digits, _, . and -, without .asc."
    }
  }
  variable "key" {
    type        = string
    default     = null
    description = "the public key, ASCII-armored; file(\"keys/example.asc\") reads it from the module"
    validation {
      condition     = var.key == null || startswith(trimspace(coalesce(var.key, "-")), "-----BEGIN PGP PUBLIC KEY BLOCK-----")
      error_message = "key is an ASCII-armored public key: it begins with -----BEGIN PGP PUBLIC KEY BLOCK-----. Make one with gpg --export --armor."
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
      condition     = var.ensure == "absent" || var.key != null
      error_message = "An apt_key needs key."
    }
  }

  file "key" {
    path    = "/etc/apt/keyrings/${var.name}.asc"
    content = var.ensure == "present" ? var.key : null
    ensure  = var.ensure
  }
}

define "debconf" {
  description = "An answer to a question that a package asks when it is configured. Write before = [package.NAME]: an installed package does not ask again. Lists and logs contain the answer, so do not use passwords. Undone by the author: set previous; without it the answer stays, and the plan marks it."
  main        = "question"

  variable "question" {
    type        = string
    description = "the question, such as postfix/main_mailer_type; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9][^\\s/]*/[^\\s]+$", var.question))
      error_message = "question has a slash in it, such as postfix/main_mailer_type. debconf-show PACKAGE lists those of a package."
    }
  }
  variable "package" {
    type        = string
    description = "the package that asks"
    validation {
      condition     = can(regex("^[a-z0-9][a-z0-9.+-]+$", var.package))
      error_message = "package is the name of a package."
    }
  }
  variable "type" {
    type        = string
    default     = "string"
    description = "string, boolean, select, multiselect or note"
    validation {
      condition     = contains(["string", "boolean", "select", "multiselect", "note"], var.type)
      error_message = "type is string, boolean, select, multiselect or note. Passwords do not belong into a list."
    }
  }
  variable "value" {
    type        = string
    description = "the answer"
    validation {
      condition     = !strcontains(var.value, "\n")
      error_message = "value is one line."
    }
    validation {
      condition     = var.type != "boolean" || contains(["true", "false"], var.value)
      error_message = "The answer to a boolean question is true or false."
    }
  }
  variable "previous" {
    type        = string
    default     = null
    description = "answer that an undo sets"
    validation {
      condition     = !strcontains(coalesce(var.previous, "-"), "\n")
      error_message = "previous is one line."
    }
  }

  locals {
    set = ["sh", "-c", "printf '%s %s %s %s\\n' \"$1\" \"$2\" \"$3\" \"$4\" | debconf-set-selections", "debconf", var.package, var.question, var.type]
  }

  exec "answer" {
    name    = "debconf-${var.package}-${var.question}"
    command = concat(local.set, [var.value])
    unless  = ["sh", "-c", "test \"$(echo \"GET $2\" | debconf-communicate \"$1\")\" = \"0 $3\"", "debconf", var.package, var.question, var.value]
    undo    = var.previous != null ? concat(local.set, [coalesce(var.previous, "-")]) : null
  }
}

define "unattended_upgrades" {
  description = "Upgrades that apt's timers install by themselves: 52fettle-NAME in /etc/apt/apt.conf.d, which apt-config must accept before it is in place. It has precedence over 20auto-upgrades and 50unattended-upgrades of the package. Undone completely, the package included; installed upgrades stay."
  main        = "name"

  variable "name" {
    type        = string
    description = "end of the file's name; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "name is letters, digits, _ and -, as apt skips other files."
    }
  }
  variable "origins" {
    type        = list(string)
    default     = ["origin=Debian,codename=$${distro_codename},label=Debian-Security", "origin=Debian,codename=$${distro_codename}-security,label=Debian-Security"]
    description = "sources of upgrades, as in Origins-Pattern; default: Debian's security updates"
    validation {
      condition     = length(var.origins) > 0 && length([for o in var.origins : o if !can(regex("^[a-z]+=[^\"\\n;]+$", o))]) == 0
      error_message = "origins are patterns such as origin=Debian,label=Debian-Security, without quotes and semicolons."
    }
  }
  variable "except" {
    type        = list(string)
    default     = []
    description = "packages that are not upgraded, as regular expressions"
    validation {
      condition     = length([for o in var.except : o if !can(regex("^[^\"\\s;]+$", o))]) == 0
      error_message = "except are names or expressions, without quotes, blanks and semicolons."
    }
  }
  variable "reboot" {
    type        = bool
    default     = false
    description = "restart the host if an upgrade requires it"
  }
  variable "reboot_time" {
    type        = string
    default     = "now"
    description = "time of the restart, such as 02:00"
    validation {
      condition     = can(regex("^(now|[0-2][0-9]:[0-5][0-9])$", var.reboot_time))
      error_message = "reboot_time is now or a time such as 02:00."
    }
  }
  variable "remove_unused" {
    type        = bool
    default     = false
    description = "remove packages that are no longer needed"
  }
  variable "mail" {
    type        = string
    default     = null
    description = "mail address for errors"
    validation {
      condition     = var.mail == null || can(regex("^[^\"\\s;]+$", var.mail))
      error_message = "mail is one address."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package unattended-upgrades; false if another state installs it"
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
    here = var.ensure == "present"
    lines = concat(
      ["// managed by fettle", "APT::Periodic::Update-Package-Lists \"1\";", "APT::Periodic::Unattended-Upgrade \"1\";"],
      ["#clear Unattended-Upgrade::Allowed-Origins;", "#clear Unattended-Upgrade::Origins-Pattern;", "Unattended-Upgrade::Origins-Pattern {"],
      [for o in var.origins : "  \"${o}\";"],
      ["};", "#clear Unattended-Upgrade::Package-Blacklist;"],
      length(var.except) > 0 ? concat(["Unattended-Upgrade::Package-Blacklist {"], [for e in var.except : "  \"${e}\";"], ["};"]) : [],
      ["Unattended-Upgrade::Automatic-Reboot \"${var.reboot}\";", "Unattended-Upgrade::Automatic-Reboot-Time \"${var.reboot_time}\";"],
      ["Unattended-Upgrade::Remove-Unused-Dependencies \"${var.remove_unused}\";"],
      var.mail != null ? ["Unattended-Upgrade::Mail \"${var.mail}\";", "Unattended-Upgrade::MailReport \"only-on-error\";"] : [],
    )
  }

  package "unattended-upgrades" {
    when = local.here && var.package
  }
  file "conf" {
    path     = "/etc/apt/apt.conf.d/52fettle-${var.name}"
    content  = local.here ? "${join("\n", local.lines)}\n" : null
    validate = local.here ? "apt-config -c %s dump" : null
    ensure   = var.ensure
  }
}
