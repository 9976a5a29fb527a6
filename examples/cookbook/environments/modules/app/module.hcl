variable "database" { type = string }
variable "workers" { type = number }
variable "log_level" { type = string }
variable "features" {
  type  = map(bool)
  merge = "shallow" # a level changes single features, and keeps the others
}

directory "/etc/app" {}

file "/etc/app/app.json" {
  content = "${jsonencode({
    database  = var.database
    workers   = var.workers
    log_level = var.log_level
    features  = [for name, on in var.features : name if on]
  })}\n"
}
