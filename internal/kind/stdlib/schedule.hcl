# What runs by the clock.
define "cron" {
  description = "A command that cron runs: a file in /etc/cron.d. Undone completely, the package included."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the file; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9_-]+$", var.name))
      error_message = "cron skips files whose names hold anything but letters, digits, _ and -."
    }
  }
  variable "schedule" {
    type        = string
    description = "minute, hour, day of month, month and day of week, such as \"*/5 * * * *\", or @daily and the like"
    validation {
      condition     = can(regex("^(@(reboot|yearly|annually|monthly|weekly|daily|midnight|hourly)|([0-9*/,-]+\\s+){3}[0-9A-Za-z*/,-]+\\s+[0-9A-Za-z*/,-]+)$", trimspace(var.schedule)))
      error_message = "schedule is five fields (minute, hour, day of month, month, day of week), or one of @reboot, @hourly, @daily, @weekly, @monthly and @yearly."
    }
  }
  variable "command" {
    type        = string
    description = "the command, run by /bin/sh; a % ends it for cron, so write \\%"
    validation {
      condition     = trimspace(var.command) != "" && !strcontains(var.command, "\n")
      error_message = "command is one line and not empty."
    }
  }
  variable "user" {
    type        = string
    default     = "root"
    description = "user that runs it"
    validation {
      condition     = can(regex("^[a-z_][a-z0-9_.-]*$", var.user))
      error_message = "user is the name of a user."
    }
  }
  variable "env" {
    type        = map(string)
    default     = {}
    description = "environment variables, such as PATH or MAILTO"
  }
  variable "package" {
    type        = bool
    default     = true
    description = "install the package cron; false if another state installs it"
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
    lines = concat([for k, v in var.env : "${k}=${v}"], ["${trimspace(var.schedule)} ${var.user} ${var.command}"])
  }

  package "cron" {
    when = var.ensure == "present" && var.package
  }
  file "entry" {
    path    = "/etc/cron.d/${var.name}"
    content = var.ensure == "present" ? "# managed by fettle\n${join("\n", local.lines)}\n" : null
    ensure  = var.ensure
    after   = [package.cron]
  }
}

define "timer" {
  description = "A command that systemd runs on a schedule: NAME.service and NAME.timer in /etc/systemd/system, the timer enabled and running. Undone completely; a run in progress continues to its end."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of both units, without suffix; default: the label"
    validation {
      condition     = can(regex("^[A-Za-z0-9:_-]([A-Za-z0-9:_.-]*[A-Za-z0-9:_-])?$", var.name)) && !endswith(var.name, ".timer") && !endswith(var.name, ".service")
      error_message = "name is letters, digits, :, _, . and -, without .timer or .service."
    }
  }
  variable "schedule" {
    type        = string
    default     = null
    description = "times, as in OnCalendar of systemd.timer: daily, Mon 04:00, *-*-* 03:30:00"
  }
  variable "every" {
    type        = string
    default     = null
    description = "instead of schedule: the time between two runs, such as 15min, and between the boot and the first run"
  }
  variable "command" {
    type        = string
    description = "the command with its path, as in ExecStart of systemd.service"
    validation {
      condition     = can(regex("^[-@:+!]*/", var.command)) && !strcontains(var.command, "\n")
      error_message = "command is one line that begins with the path of a program, as systemd runs no shell."
    }
  }
  variable "user" {
    type        = string
    default     = "root"
    description = "user that runs it"
  }
  variable "summary" {
    type        = string
    default     = null
    description = "Description= of the units; default: the name"
  }
  variable "persistent" {
    type        = bool
    default     = true
    description = "after a boot, run once if a run was missed (schedule only)"
  }
  variable "random_delay" {
    type        = string
    default     = null
    description = "RandomizedDelaySec=: random delay up to this time, such as 10min"
  }
  variable "env" {
    type        = map(string)
    default     = {}
    description = "environment variables"
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
      condition     = var.ensure == "absent" || (var.schedule == null) != (var.every == null)
      error_message = "A timer needs one of schedule and every."
    }
  }

  locals {
    here    = var.ensure == "present"
    summary = var.summary != null ? var.summary : var.name
    service = concat(
      ["[Unit]", "Description=${local.summary}", "", "[Service]", "Type=oneshot"],
      var.user != "root" ? ["User=${var.user}"] : [],
      [for k, v in var.env : "Environment=${jsonencode(replace("${k}=${v}", "%", "%%"))}"],
      ["ExecStart=${var.command}"],
    )
    timer = concat(
      ["[Unit]", "Description=${local.summary}", "", "[Timer]"],
      var.schedule != null ? ["OnCalendar=${var.schedule}", "Persistent=${var.persistent}"] : [],
      var.every != null ? ["OnBootSec=${var.every}", "OnUnitActiveSec=${var.every}"] : [],
      var.random_delay != null ? ["RandomizedDelaySec=${var.random_delay}"] : [],
      ["", "[Install]", "WantedBy=timers.target"],
    )
  }

  unit "stopped" {
    when    = !local.here
    name    = "${var.name}.timer"
    enabled = false
    running = false
  }
  file "service" {
    path    = "/etc/systemd/system/${var.name}.service"
    content = local.here ? "${join("\n", local.service)}\n" : null
    ensure  = var.ensure
    after   = [unit.stopped]
  }
  file "timer" {
    path    = "/etc/systemd/system/${var.name}.timer"
    content = local.here ? "${join("\n", local.timer)}\n" : null
    ensure  = var.ensure
    after   = [unit.stopped]
    notify  = [unit.timer.restart]
  }
  unit "timer" {
    when    = local.here
    name    = "${var.name}.timer"
    enabled = true
    running = true
    after   = [file.service, file.timer]
  }
}
