# Who may log in, as Debian's pam-auth-update puts it together.
define "pam_profile" {
  description = "A PAM module for all services: a profile in /usr/share/pam-configs, which pam-auth-update puts into /etc/pam.d/common-*. Its modules must exist before the profile is in place. pam-auth-update does not change files common-* that were edited by hand; the state then fails. An error can lock you out, so a run that changes it is undone unless you confirm it. Undone completely: the profile is disabled, and the file is removed."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the profile; default: the label"
    validation {
      condition     = can(regex("^[a-z0-9][a-z0-9_-]*$", var.name))
      error_message = "name is lower-case letters, digits, _ and -."
    }
  }
  variable "summary" {
    type        = string
    default     = null
    description = "title in the menu of pam-auth-update; default: the name"
    validation {
      condition     = var.summary == null || can(regex("^[^\\n,]+$", var.summary))
      error_message = "summary is one line without commas."
    }
  }
  variable "priority" {
    type        = number
    default     = 0
    description = "position: higher priorities come first; Debian's pam_unix has 256"
    validation {
      condition     = var.priority >= 0 && var.priority <= 1024 && floor(var.priority) == var.priority
      error_message = "priority is a whole number from 0 to 1024."
    }
  }
  variable "auth" {
    type        = list(string)
    default     = []
    description = "lines of auth, each a control and a module, such as required pam_faildelay.so delay=2000000"
    validation {
      condition     = length([for l in var.auth : l if !can(regex("^(required|requisite|sufficient|optional|\\[[^\\]\\n]+\\])[ \\t]+pam_[A-Za-z0-9_-]+[.]so([ \\t][^\\n]*)?$", l))]) == 0
      error_message = "Each of auth is a control, such as required or [success=end default=ignore], and a module such as pam_faildelay.so with its options."
    }
  }
  variable "account" {
    type        = list(string)
    default     = []
    description = "lines of account"
    validation {
      condition     = length([for l in var.account : l if !can(regex("^(required|requisite|sufficient|optional|\\[[^\\]\\n]+\\])[ \\t]+pam_[A-Za-z0-9_-]+[.]so([ \\t][^\\n]*)?$", l))]) == 0
      error_message = "Each of account is a control and a module with its options, such as required pam_access.so."
    }
  }
  variable "password" {
    type        = list(string)
    default     = []
    description = "lines of password"
    validation {
      condition     = length([for l in var.password : l if !can(regex("^(required|requisite|sufficient|optional|\\[[^\\]\\n]+\\])[ \\t]+pam_[A-Za-z0-9_-]+[.]so([ \\t][^\\n]*)?$", l))]) == 0
      error_message = "Each of password is a control and a module with its options, such as requisite pam_pwquality.so retry=3."
    }
  }
  variable "session" {
    type        = list(string)
    default     = []
    description = "lines of session"
    validation {
      condition     = length([for l in var.session : l if !can(regex("^(required|requisite|sufficient|optional|\\[[^\\]\\n]+\\])[ \\t]+pam_[A-Za-z0-9_-]+[.]so([ \\t][^\\n]*)?$", l))]) == 0
      error_message = "Each of session is a control and a module with its options, such as optional pam_mkhomedir.so."
    }
    validation {
      condition     = length(var.auth) + length(var.account) + length(var.password) + length(var.session) > 0
      error_message = "A pam_profile needs lines: auth, account, password or session."
    }
  }

  locals {
    parts   = { Auth = var.auth, Account = var.account, Password = var.password, Session = var.session }
    modules = distinct([for l in concat(var.auth, var.account, var.password, var.session) : regex("pam_[A-Za-z0-9_-]+[.]so", l)])
    lines = concat(
      ["Name: ${var.summary != null ? var.summary : "${var.name} (fettle)"}", "Default: no", "Priority: ${var.priority}"],
      flatten([for part in ["Auth", "Account", "Password", "Session"] : length(local.parts[part]) > 0 ? concat(["${part}-Type: Additional", "${part}:"], [for l in local.parts[part] : "\t${l}"]) : []]),
    )
  }

  file "profile" {
    path     = "/usr/share/pam-configs/${var.name}"
    content  = "${join("\n", local.lines)}\n"
    validate = "sh -ec 'for m in ${join(" ", local.modules)}; do for d in /lib/*/security /lib/security /usr/lib/*/security; do test ! -e $d/$m || continue 2; done; echo \"there is no PAM module $m on this machine\" >&2; exit 1; done'"
    notify   = [exec.again.run]
  }
  exec "enable" {
    name    = "pam-${var.name}"
    command = concat(["sh", "-ec", "pam-auth-update --enable \"$1\"; shift; for m; do grep -qsw \"$m\" /etc/pam.d/common-* || { echo \"pam-auth-update has not put $m into /etc/pam.d/common-*, as somebody has edited them; see pam-auth-update(8) for --force\" >&2; exit 1; }; done", "pam", var.name], local.modules)
    unless  = ["sh", "-c", "echo GET libpam-runtime/profiles | debconf-communicate libpam-runtime 2>/dev/null | tr -d ' ' | sed 's/^0/,/;s/$/,/' | grep -qF \",$1,\"", "pam", var.name]
    undo    = ["pam-auth-update", "--package", "--remove", var.name]
    env     = { DEBIAN_FRONTEND = "noninteractive" }
    after   = [file.profile]
  }
  exec "again" {
    name    = "pam-auth-update"
    command = ["env", "DEBIAN_FRONTEND=noninteractive", "pam-auth-update", "--package"]
    lazy    = true
    after   = [exec.enable]
  }
}
