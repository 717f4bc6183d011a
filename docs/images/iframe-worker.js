// Browsers start no worker in a page that was opened from a file (file://). The search of the site needs one, so this
// script replaces Worker by a hidden frame. The search looks for the name IFrameWorker, and then awaits importScripts.
(() => {
  if (location.protocol !== "file:") return;

  class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = async (...urls) => {
        for (const source of urls) await this.load(source);
      };
      this.ready = this.load(url);
    }

    /** Run a script inside the frame. */
    load(source) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script");
        script.onload = resolve;
        script.onerror = () => reject(new Error(`cannot load ${source}`));
        script.src = source;
        this.frame.contentDocument.body.append(script);
      });
    }

    async postMessage(data) {
      await this.ready;
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  }

  window.IFrameWorker = window.Worker = IFrameWorker;
})();
