package notify
