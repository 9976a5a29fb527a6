# Accounts, their SSH keys, and who may become root.
variable "users" {
  type = map(object({
    name  = string
    keys  = list(string)
    shell = optional(string, "/bin/bash")
  }))
  merge = "shallow"
}

variable "admins" {
  type    = list(string)
  default = []
  validation {
    condition     = length(setsubtract(var.admins, keys(var.users))) == 0
    error_message = "Every admin must be one of the users."
  }
}

locals {
  keys = merge([for login, user in var.users : { for i, key in user.keys : "${login} ${i}" => { login = login, key = key } }]...)
}

user "account" {
  for_each = var.users
  name     = each.key
  comment  = each.value.name
  shell    = each.value.shell
}

authorized_key "key" {
  for_each = local.keys
  user     = each.value.login
  key      = each.value.key
  after    = [user.account]
}

sudoers "admins" {
  when  = length(var.admins) > 0
  rules = [for login in var.admins : "${login} ALL=(ALL:ALL) NOPASSWD: ALL"]
}
