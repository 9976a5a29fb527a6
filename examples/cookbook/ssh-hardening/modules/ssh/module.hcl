# Log in with keys only. A run that changes sshd is undone after 60 seconds unless you confirm it:
# open a new session, then type: sudo fettle confirm
variable "allow_groups" {
  type    = list(string)
  default = []
}

sshd_config "10-hardening" {
  settings = merge({
    PasswordAuthentication       = "no"
    KbdInteractiveAuthentication = "no"
    PermitRootLogin              = "prohibit-password"
    X11Forwarding                = "no"
    MaxAuthTries                 = "3"
    LoginGraceTime               = "20"
  }, length(var.allow_groups) > 0 ? { AllowGroups = join(" ", var.allow_groups) } : {})
}

check "sshd" {
  tcp = "127.0.0.1:22"
}
