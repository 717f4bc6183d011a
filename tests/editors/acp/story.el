;; Runs a whole session of a client that uses acp.el, with the agent in $AGENT_LS_COMMAND (JSON). Prints the result as JSON.
;; The client answers file requests from Emacs buffers: a read returns unsaved text, a write changes the buffer and saves it.
(require 'json)
(require 'map)
(add-to-list 'load-path (getenv "ACP_EL"))
(require 'acp)

(defvar story-seen nil "What happened, newest first.")
(defvar story-text "" "What the agent said.")
(defvar story-choice "allow_once" "The kind of option that is chosen.")
(defvar story-session nil)

(defun story-note (&rest fields) (push fields story-seen))

(defun story-wait (done)
  (let ((end (+ (float-time) 60)))
    (while (and (not (funcall done)) (< (float-time) end)) (accept-process-output nil 0.05))
    (unless (funcall done) (error "nothing came in time"))))

(defun story-ask (client request)
  (let (answer)
    (acp-send-request :client client :request request
                      :on-success (lambda (it) (setq answer (cons 'ok it)))
                      :on-failure (lambda (it &rest _) (setq answer (cons 'error it))))
    (story-wait (lambda () answer))
    answer))

(defun story-prompt (client text)
  (let ((answer (story-ask client (acp-make-session-prompt-request
                                   :session-id story-session
                                   :prompt (vector `((type . "text") (text . ,text)))))))
    (story-note 'prompt text (map-elt (cdr answer) 'stopReason))))

(defun story-handle (client request)
  (let ((id (map-elt request 'id)) (params (map-elt request 'params)))
    (pcase (map-elt request 'method)
      ("fs/read_text_file"
       (let* ((path (map-elt params 'path)) (buffer (find-buffer-visiting path)))
         (acp-send-response
          :client client
          :response (cond
                     (buffer (acp-make-fs-read-text-file-response
                              :request-id id :content (with-current-buffer buffer (buffer-string))))
                     ((file-regular-p path)
                      (acp-make-fs-read-text-file-response
                       :request-id id
                       :content (with-temp-buffer (insert-file-contents path) (buffer-string))))
                     (t (acp-make-fs-read-text-file-response
                         :request-id id :error (acp-make-error :code -32002 :message "no such file")))))))
      ("fs/write_text_file"
       (with-current-buffer (find-file-noselect (map-elt params 'path))
         (erase-buffer)
         (insert (map-elt params 'content))
         (let ((inhibit-message t)) (save-buffer)))
       (acp-send-response :client client :response (acp-make-fs-write-text-file-response :request-id id)))
      ("session/request_permission"
       (let ((option (seq-find (lambda (it) (equal (map-elt it 'kind) story-choice)) (map-elt params 'options))))
         (story-note 'asked (map-nested-elt params '(toolCall title)))
         (acp-send-response :client client
                            :response (acp-make-session-request-permission-response
                                       :request-id id :option-id (map-elt option 'optionId))))))))

(defun story-update (client notification)
  (let ((update (map-nested-elt notification '(params update))))
    (when (equal (map-elt update 'sessionUpdate) "agent_message_chunk")
      (setq story-text (concat story-text (map-nested-elt update '(content text))))
      (when (string-suffix-p "Working" story-text)
        (acp-send-notification :client client :notification
                               (acp-make-session-cancel-notification :session-id story-session))))))

(defun story-start ()
  (let* ((command (append (json-parse-string (getenv "AGENT_LS_COMMAND")) nil))
         (client (acp-make-client :context-buffer (current-buffer) :command (car command)
                                  :command-params (cdr command))))
    (acp-subscribe-to-requests :client client :on-request (lambda (it) (story-handle client it)))
    (acp-subscribe-to-notifications :client client :on-notification (lambda (it) (story-update client it)))
    (acp-subscribe-to-errors :client client :on-error (lambda (it) (story-note 'stderr (format "%S" it))))
    (story-ask client (acp-make-initialize-request :protocol-version 1 :read-text-file-capability t
                                                   :write-text-file-capability t))
    client))

(let* ((cwd (directory-file-name (expand-file-name default-directory)))
       (client (story-start)))
  (find-file "note.txt")
  (goto-char (point-max))
  (insert "typed\n")
  (setq story-session (map-elt (cdr (story-ask client (acp-make-session-new-request :cwd cwd))) 'sessionId))
  (story-prompt client "edit")
  (story-note 'buffer (with-current-buffer (find-buffer-visiting "note.txt") (buffer-string)))
  (setq story-choice "reject_once")
  (story-prompt client "deny")
  (setq story-choice "allow_once")
  (story-prompt client "run")
  (story-prompt client "stop")
  (acp-shutdown :client client)
  (setq client (story-start) story-text "")
  (story-ask client (acp-make-session-load-request :session-id story-session :cwd cwd))
  (story-note 'loaded story-text)
  (setq story-text "")
  (story-prompt client "back")
  (story-note 'said story-text)
  (acp-shutdown :client client)
  (setq client (story-start) story-text "")
  (story-ask client (acp-make-session-resume-request :session-id story-session :cwd cwd))
  (story-note 'resumed story-text)
  (story-prompt client "again")
  (story-note 'said story-text)
  (acp-shutdown :client client)
  (princ (concat "STORY " (json-encode (vconcat (mapcar #'vconcat (reverse story-seen)))) "\n")))
