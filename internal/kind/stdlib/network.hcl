define "host_entry" {
  description = "A name in /etc/hosts. The line with the name is replaced, or a line is added. Undone completely."
  main        = "name"

  variable "name" {
    type        = string
    description = "the name; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9])?$", var.name))
      error_message = "name is a host name: letters, digits, dots and hyphens."
    }
  }
  variable "ip" {
    type        = string
    default     = null
    description = "the address"
    validation {
      condition     = var.ip == null || can(regex("^([0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$", var.ip))
      error_message = "ip is an IPv4 or IPv6 address."
    }
  }
  variable "aliases" {
    type        = list(string)
    default     = []
    description = "other names of the same address"
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
      condition     = var.ensure == "absent" || var.ip != null
      error_message = "A host_entry needs ip: the address of the name."
    }
  }

  file_line "entry" {
    path   = "/etc/hosts"
    match  = "^[^#]*\\s${replace(var.name, ".", "[.]")}(\\s|$)"
    line   = var.ensure == "present" ? join(" ", concat([var.ip, var.name], var.aliases)) : null
    create = true
    ensure = var.ensure
  }
}

define "hostname" {
  description = "The name of the host: /etc/hostname, and the current name in the kernel. A name that was set by hand is drift. The line in /etc/hosts belongs to host_entry. Undone completely, and at once."
  main        = "name"

  variable "name" {
    type        = string
    description = "the name; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$", var.name))
      error_message = "name is a host name of at most 64 letters, digits, dots and hyphens."
    }
  }
  variable "running" {
    type        = bool
    default     = true
    description = "set the current name too; false sets the name at the next boot, for a container that may not set its name"
  }

  file "hostname" {
    path    = "/etc/hostname"
    content = "${var.name}\n"
  }
  sysctl "now" {
    when    = var.running
    key     = "kernel.hostname"
    value   = var.name
    persist = false
    after   = [file.hostname]
  }
}

define "timezone" {
  description = "The time zone of the host: /etc/localtime and /etc/timezone. Undone completely."
  main        = "zone"

  variable "zone" {
    type        = string
    description = "the zone, such as Europe/Amsterdam or UTC; default: the label"
    validation {
      condition     = can(regex("^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$", var.zone))
      error_message = "zone is a name below /usr/share/zoneinfo, such as Europe/Amsterdam."
    }
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package tzdata; false if another state installs it"
  }

  package "tzdata" {
    when = var.package
  }
  link "localtime" {
    path   = "/etc/localtime"
    target = "/usr/share/zoneinfo/${var.zone}"
    after  = [package.tzdata]
  }
  file "timezone" {
    path    = "/etc/timezone"
    content = "${var.zone}\n"
    after   = [package.tzdata]
  }
}
