# What a web server can be asked to do.
action "check" {
  description = "is what it would be started with sound"
  changes     = false
  command     = ["nginx", "-t"]
}
action "drain" {
  description = "serves what is under way and nothing new, until it is started again"
  param "seconds" {
    description = "how long what is under way may take"
    type        = number
    default     = 60
    validation {
      condition     = param.seconds <= 600
      error_message = "Ten minutes at most."
    }
  }
  command = ["systemctl", "kill", "--signal=QUIT", "nginx"]
  dry_run = ["systemctl", "status", "--no-pager", "nginx"]
  timeout = "${param.seconds}s"
}
