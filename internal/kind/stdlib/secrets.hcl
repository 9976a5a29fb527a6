# Secrets that systemd hands to services.
define "credential" {
  description = "A credential of a systemd unit: a secret that the service alone can read, in memory, as $CREDENTIALS_DIRECTORY/NAME. systemd hands it over when the service starts: notify its restart. Taken back wholly."
  main        = "name"

  variable "name" {
    type        = string
    description = "what the service knows it by"
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
    description = "a secret of the repository, handed over as it is; or content"
  }
  variable "content" {
    type        = string
    default     = null
    description = "text, which may be made of secrets"
  }
  variable "volatile" {
    type        = bool
    default     = false
    description = "it is kept in memory, in /run/credstore, and written again by the first run after a start of the host"
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
