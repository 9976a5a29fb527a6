# Secrets that systemd hands to services.
define "credential" {
  description = "A credential of a systemd unit: a secret in memory that only the service can read, as $CREDENTIALS_DIRECTORY/NAME. systemd passes it when the service starts: notify its restart. Undone completely."
  main        = "name"

  variable "name" {
    type        = string
    description = "name of the credential in the service"
    validation {
      condition     = length(regexall("^[A-Za-z0-9_-][A-Za-z0-9_.-]*$", var.name)) == 1
      error_message = "A credential's name has letters, digits, _ . and -."
    }
  }
  variable "unit" {
    type        = string
    description = "the unit with its suffix, such as shop.service"
  }
  variable "secret" {
    type        = string
    default     = null
    description = "instead of content: a secret of the repository, unchanged"
  }
  variable "content" {
    type        = string
    default     = null
    description = "text, which may contain secrets"
  }
  variable "volatile" {
    type        = bool
    default     = false
    description = "store it in memory, in /run/credstore; the first run after a start of the host writes it again"
  }

  directory "store" {
    path = var.volatile ? "/run/credstore" : "/etc/credstore"
    mode = "0700"
  }
  file "value" {
    path    = "${directory.store.path}/${var.unit}.${var.name}"
    secret  = var.secret
    content = var.content
    mode    = "0600"
  }
  directory "dropins" {
    path = "/etc/systemd/system/${var.unit}.d"
  }
  file "dropin" {
    path    = "${directory.dropins.path}/credential-${var.name}.conf"
    content = "[Service]\nLoadCredential=${var.name}:${file.value.path}\n"
  }
}
